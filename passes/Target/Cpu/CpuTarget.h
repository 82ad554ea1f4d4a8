//===- CpuTarget.h - x86-64 processors with oneDNN --------------*- C++ -*-===//
#ifndef ZC_PASSES_TARGET_CPU_CPUTARGET_H
#define ZC_PASSES_TARGET_CPU_CPUTARGET_H

#include "passes/Target/Target.h"

namespace zc {

class CpuTarget : public Target {
public:
  /// The feature that oneDNN needs to multiply bfloat16, and that with which
  /// our own tiles do, where that one is not.
  static constexpr llvm::StringLiteral kWideVectors = "avx512bw",
                                       kVectors = "avx2";

  CpuTarget(sched::TargetAttr description, const TargetServices &services)
      : Target(description, services) {}

  llvm::StringRef libraryFor(mlir::Operation *op) const override;
  bool needsFloat32(mlir::Operation *op) const override;
  bool allowsWinograd(mlir::Operation *op) const override;
  int64_t mostChunkSamples() const override;
};

} // namespace zc

#endif // ZC_PASSES_TARGET_CPU_CPUTARGET_H
