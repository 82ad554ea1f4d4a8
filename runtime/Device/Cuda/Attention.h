// Attention by cuDNN's graphs.
#ifndef ZC_RUNTIME_DEVICE_CUDA_ATTENTION_H
#define ZC_RUNTIME_DEVICE_CUDA_ATTENTION_H

#include "runtime/Device/Cuda/Executables.h"

namespace zc::cuda {

class Attentions {
public:
  static Result<std::unique_ptr<Attentions>> open(const Driver &driver);
  virtual ~Attentions() = default;

  /// Attention on bfloat16 or float16 without a mask, or its gradients.
  /// Unsupported where cuDNN has no plan for it.
  virtual ExecutableResult make(const AttentionLaunch &launch) = 0;
};

} // namespace zc::cuda

#endif // ZC_RUNTIME_DEVICE_CUDA_ATTENTION_H
