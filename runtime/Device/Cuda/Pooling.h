// Pooling by cuDNN.
#ifndef ZC_RUNTIME_DEVICE_CUDA_POOLING_H
#define ZC_RUNTIME_DEVICE_CUDA_POOLING_H

#include "runtime/Device/Cuda/DnnPlans.h"

namespace zc::cuda {

ExecutableResult makePooling(DnnPlans &plans, const PoolingLaunch &launch);

} // namespace zc::cuda

#endif // ZC_RUNTIME_DEVICE_CUDA_POOLING_H
