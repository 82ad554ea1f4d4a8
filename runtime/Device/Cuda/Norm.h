// A batch norm with the ReLU behind it, and the gradients, by cuDNN.
#ifndef ZC_RUNTIME_DEVICE_CUDA_NORM_H
#define ZC_RUNTIME_DEVICE_CUDA_NORM_H

#include "runtime/Device/Cuda/DnnPlans.h"

namespace zc::cuda {

ExecutableResult makeNorm(DnnPlans &plans, const NormLaunch &launch);

} // namespace zc::cuda

#endif // ZC_RUNTIME_DEVICE_CUDA_NORM_H
