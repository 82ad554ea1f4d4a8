// Convolutions by cuDNN.
#ifndef ZC_RUNTIME_DEVICE_CUDA_CONVOLUTION_H
#define ZC_RUNTIME_DEVICE_CUDA_CONVOLUTION_H

#include "runtime/Device/Cuda/Dnn.h"

namespace zc::cuda {

/// Takes the library's first choice among the algorithms that the workspace
/// suffices for.
ExecutableResult makeConvolution(const Dnn &dnn,
                                 const ConvolutionLaunch &launch);

} // namespace zc::cuda

#endif // ZC_RUNTIME_DEVICE_CUDA_CONVOLUTION_H
