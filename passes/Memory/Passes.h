//===- Passes.h - what is kept for the backward, what not -------*- C++ -*-===//
#ifndef ZC_PASSES_MEMORY_PASSES_H
#define ZC_PASSES_MEMORY_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace zc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Memory/Passes.h.inc"

/// On a module: how many ops of the forward run twice, their share of the
/// forward's time by the cost model, and by how many seconds the chosen copies
/// make a step longer (array<f64: ops, part, seconds>).
inline constexpr llvm::StringLiteral kRecomputedWorkAttr = "memory.recomputed";

/// Fits the programs of fused ops into memory.
void buildMemoryPipeline(mlir::OpPassManager &manager,
                         const RecomputePassOptions &options);

} // namespace zc

#endif // ZC_PASSES_MEMORY_PASSES_H
