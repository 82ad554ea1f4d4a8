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

/// These measure the peaks of plans: `rest` are the passes behind them, up to
/// offsets. Without it, the passes that need a peak fail.
std::unique_ptr<mlir::Pass>
createRecomputePass(const RecomputePassOptions &options,
                    const mlir::OpPassManager &rest);
std::unique_ptr<mlir::Pass>
createEncodeKeptPass(const EncodeKeptPassOptions &options,
                     const mlir::OpPassManager &rest);

} // namespace zc

#endif // ZC_PASSES_MEMORY_PASSES_H
