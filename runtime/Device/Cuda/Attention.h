// Attention by cuDNN's graphs.
#ifndef ZC_RUNTIME_DEVICE_CUDA_ATTENTION_H
#define ZC_RUNTIME_DEVICE_CUDA_ATTENTION_H

#include "runtime/Device/Cuda/DnnPlans.h"

namespace zc::cuda {

/// Attention on bfloat16 or float16 without a mask, or its gradients, whose
/// sums are in no fixed order. Unsupported where cuDNN has no plan for it.
ExecutableResult makeAttention(DnnPlans &plans, const AttentionLaunch &launch);

} // namespace zc::cuda

#endif // ZC_RUNTIME_DEVICE_CUDA_ATTENTION_H
