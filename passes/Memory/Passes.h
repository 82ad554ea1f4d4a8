//===- Passes.h - what is kept for the backward, what not -------*- C++ -*-===//
#ifndef ZC_PASSES_MEMORY_PASSES_H
#define ZC_PASSES_MEMORY_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace zc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Memory/Passes.h.inc"

/// On a module: how many ops of the forward run twice, their share of the
/// forward's time by the cost model, and by how many seconds the chosen copies
/// make a step longer (array<f64: ops, part, seconds>).
inline constexpr llvm::StringLiteral kRecomputedWorkAttr = "memory.recomputed";

/// On a module, of its plan: encodings that round are left out, as they would
/// not lower it; the bytes of its peak without encodings, an i64.
inline constexpr llvm::StringLiteral kExactEncodingsAttr = "memory.exact";
inline constexpr llvm::StringLiteral kPlainPeakAttr = "memory.plain_peak";

/// A way to plan: the passes for max pools, and those behind them, up to
/// offsets.
struct PoolPlan {
  PoolPlan() : pools("builtin.module"), rest("builtin.module") {}
  mlir::OpPassManager pools, rest;
};

/// The plan with these encodings, or with nothing kept otherwise than whole,
/// and with the places of all max pools or of
/// those alone whose images the backward reads for nothing else.
using PoolPlanner =
    std::function<PoolPlan(std::optional<std::string> encodings, bool always)>;

std::unique_ptr<mlir::Pass>
createPlanPoolPlacesPass(const PlanPoolPlacesPassOptions &options,
                         PoolPlanner planner);

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
