//===- ApplyPlan.h - compute again what is not kept -------------*- C++ -*-===//
#ifndef ZC_PASSES_MEMORY_APPLYPLAN_H
#define ZC_PASSES_MEMORY_APPLYPLAN_H

#include "passes/Memory/StepAnalysis.h"

namespace zc {

/// Lets the backward of `program` read clones of all values of the forward but
/// the `kept` ones (numbered as StepAnalysis does). Returns the number of ops
/// that run twice.
unsigned applyPlan(mlir::func::FuncOp program, const llvm::BitVector &kept);

} // namespace zc

#endif // ZC_PASSES_MEMORY_APPLYPLAN_H
