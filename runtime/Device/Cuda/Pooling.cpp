#include "runtime/Device/Cuda/Pooling.h"
#include "runtime/Device/Cuda/Advice.h"

namespace zc::cuda {
namespace {

class PoolingExecutable final : public CudaExecutable {
public:
  PoolingExecutable(const Dnn &dnn, const PoolingLaunch &launch)
      : dnn(dnn), launch(launch), source(dnn), destination(dnn) {}
  ~PoolingExecutable() override {
    if (pooling)
      dnn.cudnnDestroyPoolingDescriptor(pooling);
  }

  Status create() {
    const kernels::PoolingSpec &spec = launch.spec;
    ZC_RETURN_IF_ERROR(source.describe(spec.source));
    ZC_RETURN_IF_ERROR(destination.describe(spec.destination));
    ZC_DNN_CALL(dnn, cudnnCreatePoolingDescriptor, &pooling);
    std::vector<int> window = Dnn::toInt(spec.window),
                     pads = Dnn::toInt(spec.pads),
                     strides = Dnn::toInt(spec.strides);
    // As generated kernels: a NaN is a window's largest element.
    ZC_DNN_CALL(dnn, cudnnSetPoolingNdDescriptor, pooling, CUDNN_POOLING_MAX,
                CUDNN_PROPAGATE_NAN, int(window.size()), window.data(),
                pads.data(), strides.data());
    return Status();
  }

  Status enqueue(CUstream stream) override {
    ZC_DNN_CALL(dnn, cudnnSetStream, dnn.handle,
                reinterpret_cast<cudaStream_t>(stream));
    const float one = 1, zero = 0;
    ZC_DNN_CALL(dnn, cudnnPoolingForward, dnn.handle, pooling, &one,
                source.get(), launch.source, &zero, destination.get(),
                launch.destination);
    return Status();
  }

  std::string describe() const {
    const kernels::PoolingSpec &spec = launch.spec;
    return strCat("the largest of windows ", printDims(spec.window), " in ",
                  printType(spec.source.type), ", images ",
                  printDims(spec.source.dims));
  }

private:
  const Dnn &dnn;
  PoolingLaunch launch;
  DnnTensor source, destination;
  cudnnPoolingDescriptor_t pooling = nullptr;
};

} // namespace

ExecutableResult makePooling(const Dnn &dnn, const PoolingLaunch &launch) {
  auto pooling = std::make_unique<PoolingExecutable>(dnn, launch);
  Status status = pooling->create();
  if (!status.ok())
    return adviseOnLack(status, "cuDNN", pooling->describe(),
                        "ZC_CUDA_POOLING");
  return std::unique_ptr<Executable>(std::move(pooling));
}

} // namespace zc::cuda
