//===- AmaxHistory.h - scales from the steps before -------------*- C++ -*-===//
#ifndef ZC_PASSES_PRECISION_AMAXHISTORY_H
#define ZC_PASSES_PRECISION_AMAXHISTORY_H

#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zc {

/// The largest magnitudes that a tensor had in the last `steps` steps: a state
/// of steps + 1 float32 (train::kAmaxSlotPrefix). Nothing of the step that
/// runs is read, so its micro-batches may come in any order.
class AmaxHistory {
public:
  /// A new state, of the factor `kind` ("input", "weight", "gradient") of a
  /// product with `weight`; a further one of that name gets a number. A
  /// diagnostic where the model has a tensor of that name.
  static mlir::FailureOr<AmaxHistory> add(mlir::func::FuncOp step,
                                          mlir::StringRef weight,
                                          mlir::StringRef kind, int64_t steps,
                                          mlir::Location loc);

  /// The largest of the steps before, one float32; `unknown` before there is
  /// any.
  mlir::Value largest(mlir::OpBuilder &builder, double unknown);

  /// Lets `size` count for the step that runs, where it is finite.
  void record(mlir::OpBuilder &builder, mlir::Value size);

private:
  AmaxHistory(mlir::func::FuncOp step, train::StateOp state,
              mlir::Value history)
      : step(step), state(state), history(history) {}

  mlir::func::FuncOp step;
  train::StateOp state;
  mlir::Value history;
};

/// The history of the next step: 0, and what there is but for the oldest.
mlir::Value rollHistory(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value history);

} // namespace zc

#endif // ZC_PASSES_PRECISION_AMAXHISTORY_H
