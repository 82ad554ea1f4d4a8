// Convolutions by cuDNN.
#ifndef ZC_RUNTIME_DEVICE_CUDA_CONVOLUTION_H
#define ZC_RUNTIME_DEVICE_CUDA_CONVOLUTION_H

#include "runtime/Device/Cuda/Executables.h"

namespace zc::cuda {

class Convolutions {
public:
  static Result<std::unique_ptr<Convolutions>> open();
  virtual ~Convolutions() = default;

  /// Takes the library's first choice among the algorithms that the workspace
  /// suffices for.
  virtual ExecutableResult make(const ConvolutionLaunch &launch) = 0;
};

} // namespace zc::cuda

#endif // ZC_RUNTIME_DEVICE_CUDA_CONVOLUTION_H
