//===- States.h - states of mixed precision ---------------------*- C++ -*-===//
#ifndef ZC_PASSES_PRECISION_STATES_H
#define ZC_PASSES_PRECISION_STATES_H

#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zc {

/// Whether `op` converts a parameter that has no copy in 16 bits, and stands
/// for one (its property `rounds_parameter`; the backward's is another, so that
/// the two stay two).
inline bool roundsParameter(mlir::Operation *op) {
  auto rounding = llvm::dyn_cast<train::ConvertOp>(op);
  return rounding && rounding.getRoundsParameter();
}

/// A new state that holds `parameter`, of float32, in 16 bits; a diagnostic
/// when a tensor of the model has its name.
mlir::FailureOr<train::StateOp> addCopy(train::StateOp parameter,
                                        mlir::FloatType element);

/// Rounds an argument, to which a parameter of float32 is bound, in front of
/// its first reader; all readers get the rounded one, which stands for a copy.
void roundWhereRead(train::StateOp parameter, mlir::BlockArgument argument,
                    mlir::FloatType element);

/// The parameter, or copy of one, that `value` has the elements of, in whatever
/// order and type; null for others.
train::StateOp findReadWeight(mlir::Value value);

/// The states of a loss that is scaled, where there are none yet. `fixed`: what
/// by; 0: a scale that adapts, which counts the steps since it last did.
mlir::LogicalResult addLossScale(mlir::ModuleOp module, double fixed);

} // namespace zc

#endif // ZC_PASSES_PRECISION_STATES_H
