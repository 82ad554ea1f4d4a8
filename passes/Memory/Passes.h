//===- Passes.h - what is kept for the backward, what not -------*- C++ -*-===//
#ifndef ZC_PASSES_MEMORY_PASSES_H
#define ZC_PASSES_MEMORY_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

#include <memory>

namespace zc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Memory/Passes.h.inc"

/// On a module, three numbers (array<f64: ops, part, seconds>): how many ops of
/// the forward run twice, their share of the forward's time, and by how many
/// seconds a step is longer for the copies that were chosen; both by the cost
/// model.
inline constexpr llvm::StringLiteral kRecomputedWorkAttr =
    "train.recomputed_work";

/// Marks of --zc-plan-pool-places on a module. The first says that encodings
/// which round are left out, since the plan would be no lower with them. The
/// second is the planned peak without any encoding, in bytes (i64).
inline constexpr llvm::StringLiteral kExactEncodingsAttr =
    "train.exact_encodings";
inline constexpr llvm::StringLiteral kPlainPeakAttr = "train.plain_peak";

/// Two lists of passes that plan a step, to be run one behind the other:
/// `pools` decides what each max pool keeps, `rest` does all that follows, up
/// to offsets.
struct PoolPlan {
  PoolPlan() : pools("builtin.module"), rest("builtin.module") {}
  mlir::OpPassManager pools, rest;
};

/// The plans that --zc-plan-pool-places compares.
struct PoolPlans {
  /// Leaves encodings out that round. A pool keeps its image, and not the
  /// places of its maxima, if the backward reads the image anyway.
  PoolPlan exact;
  /// Has all encodings. Every pool keeps the places of its maxima.
  PoolPlan rounded;
  /// Keeps every value whole: no encoding, and no part of it on another rank.
  /// Pools keep what they keep in `exact`.
  PoolPlan plain;
};

/// These passes measure what plans need, on copies of the module.
std::unique_ptr<mlir::Pass>
createPlanPoolPlacesPass(const PlanPoolPlacesPassOptions &options,
                         const PoolPlans &plans);

/// These run `rest`, the passes that follow up to offsets. If `rest` is empty,
/// they fail as soon as they need such a measurement.
std::unique_ptr<mlir::Pass>
createRecomputePass(const RecomputePassOptions &options,
                    const mlir::OpPassManager &rest);
std::unique_ptr<mlir::Pass>
createEncodeKeptPass(const EncodeKeptPassOptions &options,
                     const mlir::OpPassManager &rest);

} // namespace zc

#endif // ZC_PASSES_MEMORY_PASSES_H
