#include "runtime/Device/Cuda/Convolution.h"
#include "runtime/Device/Cuda/Advice.h"

#include <cstdlib>

namespace zc::cuda {
namespace {

/// float32 is exact unless ZC_CUDA_TF32=1 asks for tensor cores.
cudnnMathType_t mathType(kernels::ElementType type) {
  const char *tf32 = std::getenv("ZC_CUDA_TF32");
  bool exact = type == kernels::ElementType::F32 && !(tf32 && *tf32 == '1');
  return exact ? CUDNN_FMA_MATH : CUDNN_TENSOR_OP_MATH;
}

class ConvolutionExecutable final : public CudaExecutable {
public:
  ConvolutionExecutable(const Dnn &dnn, const ConvolutionLaunch &launch)
      : dnn(dnn), handle(dnn.handle), launch(launch), source(dnn),
        destination(dnn) {}
  ~ConvolutionExecutable() override {
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
    ZC_RETURN_IF_ERROR(source.describe(spec.source));
    ZC_RETURN_IF_ERROR(destination.describe(spec.destination));
    ZC_DNN_CALL(dnn, cudnnCreateFilterDescriptor, &filter);
    std::vector<int> dims = Dnn::toInt(spec.filter.dims);
    ZC_DNN_CALL(dnn, cudnnSetFilterNdDescriptor, filter,
                Dnn::dataType(spec.filter.type), CUDNN_TENSOR_NCHW,
                int(dims.size()), dims.data());
    ZC_DNN_CALL(dnn, cudnnCreateConvolutionDescriptor, &convolution);
    std::vector<int> pads = Dnn::toInt(spec.padsLow),
                     strides = Dnn::toInt(spec.strides),
                     dilations = Dnn::toInt(spec.dilations);
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
      ZC_DNN_CALL(dnn, cudnnConvolutionForward, handle, &one, source.get(),
                  launch.source, filter, launch.filter, convolution,
                  cudnnConvolutionFwdAlgo_t(algorithm), launch.workspace,
                  launch.workspaceBytes, &zero, destination.get(),
                  launch.destination);
      break;
    case kernels::ConvolutionKind::BackwardInput:
      ZC_DNN_CALL(dnn, cudnnConvolutionBackwardData, handle, &one, filter,
                  launch.filter, destination.get(), launch.destination,
                  convolution, cudnnConvolutionBwdDataAlgo_t(algorithm),
                  launch.workspace, launch.workspaceBytes, &zero, source.get(),
                  launch.source);
      break;
    case kernels::ConvolutionKind::BackwardFilter:
      ZC_DNN_CALL(dnn, cudnnConvolutionBackwardFilter, handle, &one,
                  source.get(), launch.source, destination.get(),
                  launch.destination, convolution,
                  cudnnConvolutionBwdFilterAlgo_t(algorithm), launch.workspace,
                  launch.workspaceBytes, &zero, filter, launch.filter);
      break;
    }
    return Status();
  }

private:
  /// The first of the library's ranking that the workspace suffices for.
  template <typename Performance, typename Query>
  Status chooseFrom(Query query) {
    constexpr int kMost = 32; // all: 8 at most, each in several kinds of math
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
                handle, source.get(), filter, convolution, destination.get(),
                most, count, found);
          });
    case kernels::ConvolutionKind::BackwardInput:
      return chooseFrom<cudnnConvolutionBwdDataAlgoPerf_t>(
          [&](int most, int *count, auto *found) {
            return dnn.cudnnGetConvolutionBackwardDataAlgorithm_v7(
                handle, filter, destination.get(), convolution, source.get(),
                most, count, found);
          });
    default:
      return chooseFrom<cudnnConvolutionBwdFilterAlgoPerf_t>(
          [&](int most, int *count, auto *found) {
            return dnn.cudnnGetConvolutionBackwardFilterAlgorithm_v7(
                handle, source.get(), destination.get(), convolution, filter,
                most, count, found);
          });
    }
  }

  const Dnn &dnn;
  cudnnHandle_t handle;
  ConvolutionLaunch launch;
  DnnTensor source, destination;
  cudnnFilterDescriptor_t filter = nullptr;
  cudnnConvolutionDescriptor_t convolution = nullptr;
  int algorithm = 0;
};

std::string describe(const kernels::ConvolutionSpec &spec) {
  using kernels::ConvolutionKind;
  const char *which = spec.kind == ConvolutionKind::Forward ? "a convolution"
                      : spec.kind == ConvolutionKind::BackwardInput
                          ? "the gradient of images"
                          : "the gradient of filters";
  return strCat(which, " in ", printType(spec.source.type), ", images ",
                printDims(spec.source.dims), ", filters ",
                printDims(spec.filter.dims));
}

} // namespace

ExecutableResult makeConvolution(const Dnn &dnn,
                                 const ConvolutionLaunch &launch) {
  auto convolution = std::make_unique<ConvolutionExecutable>(dnn, launch);
  Status status = convolution->create();
  if (!status.ok())
    return adviseOnLack(status, "cuDNN", describe(launch.spec),
                        "ZC_CUDA_CONVOLUTION");
  return std::unique_ptr<Executable>(std::move(convolution));
}

} // namespace zc::cuda
