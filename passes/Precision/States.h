//===- States.h - states of mixed precision ---------------------*- C++ -*-===//
#ifndef ZC_PASSES_PRECISION_STATES_H
#define ZC_PASSES_PRECISION_STATES_H

#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zc {

/// A new state that holds `parameter`, of float32, in 16 bits; a diagnostic
/// when a tensor of the model has its name.
mlir::FailureOr<train::StateOp> addCopy(train::StateOp parameter,
                                        mlir::FloatType element);

/// The states of a loss that is scaled, where there are none yet.
mlir::LogicalResult addLossScale(mlir::ModuleOp module);

} // namespace zc

#endif // ZC_PASSES_PRECISION_STATES_H
