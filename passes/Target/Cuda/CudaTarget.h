//===- CudaTarget.h - NVIDIA GPUs with cuBLASLt and cuDNN -------*- C++ -*-===//
#ifndef ZC_PASSES_TARGET_CUDA_CUDATARGET_H
#define ZC_PASSES_TARGET_CUDA_CUDATARGET_H

#include "passes/Target/Target.h"

namespace zc {

class CudaTarget : public Target {
public:
  CudaTarget(sched::TargetAttr description, const TargetServices &services)
      : Target(description, services) {}

  /// Whether a text is sm_NN, of GPUs that zc knows code for.
  static bool isArch(llvm::StringRef text);

  llvm::StringRef libraryFor(mlir::Operation *op) const override;
  bool needsFloat32(mlir::Operation *op) const override;
  bool runsBesideHost() const override { return true; }
  int64_t mostChunkSamples() const override;
};

} // namespace zc

#endif // ZC_PASSES_TARGET_CUDA_CUDATARGET_H
