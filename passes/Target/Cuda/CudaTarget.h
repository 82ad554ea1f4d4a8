//===- CudaTarget.h - NVIDIA GPUs with cuBLASLt and cuDNN -------*- C++ -*-===//
#ifndef ZC_PASSES_TARGET_CUDA_CUDATARGET_H
#define ZC_PASSES_TARGET_CUDA_CUDATARGET_H

#include "passes/Target/Target.h"

namespace zc {

class CudaTarget : public Target {
public:
  CudaTarget(sched::TargetAttr description, WorkspaceBound bound)
      : Target(description, std::move(bound)) {}

  llvm::StringRef libraryFor(mlir::Operation *op) const override;
  bool needsFloat32(mlir::Operation *op) const override;
  bool fusesNorm(mlir::Operation *op) const override;
  bool fusesEpilogues() const override;
  bool fusesSums() const override;
  bool takesReluBits() const override;
  bool runsBesideHost() const override { return true; }
  int64_t mostChunkSamples() const override;
  const MachineRates &rates() const override;
};

} // namespace zc

#endif // ZC_PASSES_TARGET_CUDA_CUDATARGET_H
