// Convolutions by cuDNN.
#ifndef ZC_RUNTIME_DEVICE_CUDA_CONVOLUTION_H
#define ZC_RUNTIME_DEVICE_CUDA_CONVOLUTION_H

#include "runtime/Device/Cuda/DnnPlans.h"

namespace zc::cuda {

/// Products of float32 are exact unless `plans` may round them to TF32.
ExecutableResult makeConvolution(DnnPlans &plans,
                                 const ConvolutionLaunch &launch);

} // namespace zc::cuda

#endif // ZC_RUNTIME_DEVICE_CUDA_CONVOLUTION_H
