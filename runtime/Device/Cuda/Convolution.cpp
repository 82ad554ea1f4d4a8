#include "runtime/Device/Cuda/Convolution.h"
#include "runtime/Device/Cuda/Advice.h"
#include "runtime/Device/Cuda/Library.h"

#include <cstdlib>
#include <cudnn.h>

namespace zc::cuda {
namespace {

#define ZC_CUDNN_FUNCTIONS(F)                                                  \
  F(cudnnCreate)                                                               \
  F(cudnnDestroy)                                                              \
  F(cudnnSetStream)                                                            \
  F(cudnnGetErrorString)                                                       \
  F(cudnnCreateTensorDescriptor)                                               \
  F(cudnnDestroyTensorDescriptor)                                              \
  F(cudnnSetTensorNdDescriptor)                                                \
  F(cudnnCreateFilterDescriptor)                                               \
  F(cudnnDestroyFilterDescriptor)                                              \
  F(cudnnSetFilterNdDescriptor)                                                \
  F(cudnnCreateConvolutionDescriptor)                                          \
  F(cudnnDestroyConvolutionDescriptor)                                         \
  F(cudnnSetConvolutionNdDescriptor)                                           \
  F(cudnnSetConvolutionGroupCount)                                             \
  F(cudnnSetConvolutionMathType)                                               \
  F(cudnnGetConvolutionForwardAlgorithm_v7)                                    \
  F(cudnnGetConvolutionBackwardDataAlgorithm_v7)                               \
  F(cudnnGetConvolutionBackwardFilterAlgorithm_v7)                             \
  F(cudnnConvolutionForward)                                                   \
  F(cudnnConvolutionBackwardData)                                              \
  F(cudnnConvolutionBackwardFilter)

struct Cudnn {
#define F(name) decltype(&::name) name = nullptr;
  ZC_CUDNN_FUNCTIONS(F)
#undef F

  Status check(cudnnStatus_t status, const char *call) const {
    if (status == CUDNN_STATUS_SUCCESS)
      return Status();
    bool lacks = CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED;
    return makeError(lacks ? StatusCode::Unsupported : StatusCode::Internal,
                     call, ": ", cudnnGetErrorString(status));
  }

  Status load() {
    const std::string name = "libcudnn.so.9";
    ZC_ASSIGN_OR_RETURN(void *library, openLibrary(name));
    return findSymbols(library, name,
                       {
#define F(name) {#name, reinterpret_cast<void **>(&name)},
                           ZC_CUDNN_FUNCTIONS(F)
#undef F
                       });
  }
};

#define ZC_DNN_CALL(dnn, name, ...)                                            \
  ZC_RETURN_IF_ERROR((dnn).check((dnn).name(__VA_ARGS__), #name))

cudnnDataType_t dataType(kernels::ElementType type) {
  switch (type) {
  case kernels::ElementType::BF16:
    return CUDNN_DATA_BFLOAT16;
  case kernels::ElementType::F16:
    return CUDNN_DATA_HALF;
  default:
    return CUDNN_DATA_FLOAT;
  }
}

/// float32 is exact unless ZC_CUDA_TF32=1 asks for tensor cores.
cudnnMathType_t mathType(kernels::ElementType type) {
  const char *tf32 = std::getenv("ZC_CUDA_TF32");
  bool exact = type == kernels::ElementType::F32 && !(tf32 && *tf32 == '1');
  return exact ? CUDNN_FMA_MATH : CUDNN_TENSOR_OP_MATH;
}

std::vector<int> toInt(const std::vector<int64_t> &numbers) {
  return {numbers.begin(), numbers.end()};
}

class ConvolutionExecutable final : public CudaExecutable {
public:
  ConvolutionExecutable(const Cudnn &dnn, cudnnHandle_t handle,
                        const ConvolutionLaunch &launch)
      : dnn(dnn), handle(handle), launch(launch) {}
  ~ConvolutionExecutable() override {
    for (cudnnTensorDescriptor_t tensor : {source, destination})
      if (tensor)
        dnn.cudnnDestroyTensorDescriptor(tensor);
    if (filter)
      dnn.cudnnDestroyFilterDescriptor(filter);
    if (convolution)
      dnn.cudnnDestroyConvolutionDescriptor(convolution);
  }

  Status create() {
    const kernels::ConvolutionSpec &spec = launch.spec;
    if (spec.padsLow != spec.padsHigh)
      return makeError(StatusCode::Unsupported,
                       "cuDNN pads both sides of a dim alike");
    ZC_RETURN_IF_ERROR(describe(spec.source, source));
    ZC_RETURN_IF_ERROR(describe(spec.destination, destination));
    ZC_DNN_CALL(dnn, cudnnCreateFilterDescriptor, &filter);
    std::vector<int> dims = toInt(spec.filter.dims);
    ZC_DNN_CALL(dnn, cudnnSetFilterNdDescriptor, filter,
                dataType(spec.filter.type), CUDNN_TENSOR_NCHW, int(dims.size()),
                dims.data());
    ZC_DNN_CALL(dnn, cudnnCreateConvolutionDescriptor, &convolution);
    std::vector<int> pads = toInt(spec.padsLow), strides = toInt(spec.strides),
                     dilations = toInt(spec.dilations);
    ZC_DNN_CALL(dnn, cudnnSetConvolutionNdDescriptor, convolution,
                int(pads.size()), pads.data(), strides.data(), dilations.data(),
                CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
    ZC_DNN_CALL(dnn, cudnnSetConvolutionGroupCount, convolution,
                int(spec.groups));
    ZC_DNN_CALL(dnn, cudnnSetConvolutionMathType, convolution,
                mathType(spec.source.type));
    return choose();
  }

  Status enqueue(CUstream stream) override {
    ZC_DNN_CALL(dnn, cudnnSetStream, handle,
                reinterpret_cast<cudaStream_t>(stream));
    const float one = 1, zero = 0;
    switch (launch.spec.kind) {
    case kernels::ConvolutionKind::Forward:
      ZC_DNN_CALL(dnn, cudnnConvolutionForward, handle, &one, source,
                  launch.source, filter, launch.filter, convolution,
                  cudnnConvolutionFwdAlgo_t(algorithm), launch.workspace,
                  launch.workspaceBytes, &zero, destination,
                  launch.destination);
      break;
    case kernels::ConvolutionKind::BackwardInput:
      ZC_DNN_CALL(dnn, cudnnConvolutionBackwardData, handle, &one, filter,
                  launch.filter, destination, launch.destination, convolution,
                  cudnnConvolutionBwdDataAlgo_t(algorithm), launch.workspace,
                  launch.workspaceBytes, &zero, source, launch.source);
      break;
    case kernels::ConvolutionKind::BackwardFilter:
      ZC_DNN_CALL(dnn, cudnnConvolutionBackwardFilter, handle, &one, source,
                  launch.source, destination, launch.destination, convolution,
                  cudnnConvolutionBwdFilterAlgo_t(algorithm), launch.workspace,
                  launch.workspaceBytes, &zero, filter, launch.filter);
      break;
    }
    return Status();
  }

private:
  Status describe(const kernels::StridedTensor &tensor,
                  cudnnTensorDescriptor_t &descriptor) {
    ZC_DNN_CALL(dnn, cudnnCreateTensorDescriptor, &descriptor);
    std::vector<int> dims = toInt(tensor.dims), strides = toInt(tensor.strides);
    ZC_DNN_CALL(dnn, cudnnSetTensorNdDescriptor, descriptor,
                dataType(tensor.type), int(dims.size()), dims.data(),
                strides.data());
    return Status();
  }

  /// The first of the library's ranking that the workspace suffices for.
  template <typename Performance, typename Query>
  Status chooseFrom(Query query) {
    constexpr int kMost = 8;
    Performance found[kMost];
    int count = 0;
    ZC_RETURN_IF_ERROR(
        dnn.check(query(kMost, &count, found), "cudnnGetConvolutionAlgorithm"));
    for (int i = 0; i < count; ++i)
      if (found[i].status == CUDNN_STATUS_SUCCESS &&
          found[i].memory <= launch.workspaceBytes) {
        algorithm = int(found[i].algo);
        return dnn.check(
            dnn.cudnnSetConvolutionMathType(convolution, found[i].mathType),
            "cudnnSetConvolutionMathType");
      }
    return makeError(StatusCode::ResourceExhausted, "none of its ", count,
                     " algorithms does within the planned ",
                     launch.workspaceBytes, " bytes of workspace");
  }

  Status choose() {
    switch (launch.spec.kind) {
    case kernels::ConvolutionKind::Forward:
      return chooseFrom<cudnnConvolutionFwdAlgoPerf_t>(
          [&](int most, int *count, auto *found) {
            return dnn.cudnnGetConvolutionForwardAlgorithm_v7(
                handle, source, filter, convolution, destination, most, count,
                found);
          });
    case kernels::ConvolutionKind::BackwardInput:
      return chooseFrom<cudnnConvolutionBwdDataAlgoPerf_t>(
          [&](int most, int *count, auto *found) {
            return dnn.cudnnGetConvolutionBackwardDataAlgorithm_v7(
                handle, filter, destination, convolution, source, most, count,
                found);
          });
    default:
      return chooseFrom<cudnnConvolutionBwdFilterAlgoPerf_t>(
          [&](int most, int *count, auto *found) {
            return dnn.cudnnGetConvolutionBackwardFilterAlgorithm_v7(
                handle, source, destination, convolution, filter, most, count,
                found);
          });
    }
  }

  const Cudnn &dnn;
  cudnnHandle_t handle;
  ConvolutionLaunch launch;
  cudnnTensorDescriptor_t source = nullptr, destination = nullptr;
  cudnnFilterDescriptor_t filter = nullptr;
  cudnnConvolutionDescriptor_t convolution = nullptr;
  int algorithm = 0;
};

class CudnnConvolutions final : public Convolutions {
public:
  ~CudnnConvolutions() override {
    if (handle)
      dnn.cudnnDestroy(handle);
  }

  Status open() {
    ZC_RETURN_IF_ERROR(dnn.load());
    ZC_DNN_CALL(dnn, cudnnCreate, &handle);
    return Status();
  }

  ExecutableResult make(const ConvolutionLaunch &launch) override {
    auto convolution =
        std::make_unique<ConvolutionExecutable>(dnn, handle, launch);
    Status status = convolution->create();
    if (!status.ok())
      return adviseOnLack(status, "cuDNN", describe(launch.spec),
                          "ZC_CUDA_CONVOLUTION");
    return std::unique_ptr<Executable>(std::move(convolution));
  }

private:
  static std::string describe(const kernels::ConvolutionSpec &spec) {
    using kernels::ConvolutionKind;
    const char *which = spec.kind == ConvolutionKind::Forward ? "a convolution"
                        : spec.kind == ConvolutionKind::BackwardInput
                            ? "the gradient of images"
                            : "the gradient of filters";
    return strCat(which, " in ", printType(spec.source.type), ", images ",
                  printDims(spec.source.dims), ", filters ",
                  printDims(spec.filter.dims));
  }

  Cudnn dnn;
  cudnnHandle_t handle = nullptr;
};

} // namespace

Result<std::unique_ptr<Convolutions>> Convolutions::open() {
  auto convolutions = std::make_unique<CudnnConvolutions>();
  ZC_RETURN_IF_ERROR(convolutions->open());
  return std::unique_ptr<Convolutions>(std::move(convolutions));
}

} // namespace zc::cuda
