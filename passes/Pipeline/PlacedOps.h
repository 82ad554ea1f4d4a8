//===- PlacedOps.h - which ops have a stage of their own --------*- C++ -*-===//
#ifndef ZC_PASSES_PIPELINE_PLACEDOPS_H
#define ZC_PASSES_PIPELINE_PLACEDOPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace zc {

/// Seconds of one execution by the roofline of the module's target.
double estimateOpSeconds(mlir::Operation *op);

/// The ops of a forward program that are computed in one stage, in the
/// program's order. The others depend on states alone, or are cheap and depend
/// on inputs but on no parameter (masks, positions, rotary tables): every role
/// that reads them computes them. Cheap: with all that they need, at most
/// `share` of the program's time.
llvm::SmallVector<mlir::Operation *> findPlacedOps(mlir::func::FuncOp program,
                                                   double share);

} // namespace zc

#endif // ZC_PASSES_PIPELINE_PLACEDOPS_H
