//===- Passes.h - a model cut into the roles of a pipeline ------*- C++ -*-===//
#ifndef ZC_PASSES_PIPELINE_PASSES_H
#define ZC_PASSES_PIPELINE_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace zc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Pipeline/Passes.h.inc"

/// On the module whose nested modules are roles: for each stage the seconds
/// that its passes take for a micro-batch, as the partition assumed
/// (array<f64>).
inline constexpr llvm::StringLiteral kStageSecondsAttr = "train.stage_seconds";

/// On a role: the most micro-batches that are between their forward and the end
/// of their backward at once (i64), and that both are one program.
inline constexpr llvm::StringLiteral kInFlightAttr = "train.in_flight";
inline constexpr llvm::StringLiteral kKeepWholeAttr = "train.keep_whole";

/// On a role: the slots of its rings, where the orders are known that need them
/// (dictionary of i64).
inline constexpr llvm::StringLiteral kRingSlotsAttr = "train.ring_slots";

/// The bytes that the rings of a role take, whose flight states have places.
/// Rings without kRingSlotsAttr are taken to be as deep as between neighbours
/// of a pipeline: saved activations have a slot for each micro-batch in flight,
/// values in transit two, one of them on its way.
int64_t countFlightBytes(mlir::ModuleOp role);

} // namespace zc

#endif // ZC_PASSES_PIPELINE_PASSES_H
