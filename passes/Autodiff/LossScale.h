//===- LossScale.h - what keeps small gradients from fp16's zero -*- C++
//-*-===//
#ifndef ZC_PASSES_AUTODIFF_LOSSSCALE_H
#define ZC_PASSES_AUTODIFF_LOSSSCALE_H

#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zc {

/// Loss scaling in the program that ends a step: where a gradient is not
/// finite, everything keeps its old value. A dynamic scale is then halved;
/// after 2000 steps without such it is doubled (as PyTorch's GradScaler). A
/// static scale, without the state kGoodSteps, never changes. Does nothing
/// where the module has no state kLossScale. A micro-batch that overflows skips
/// the step; fewer do than whole batches, as each adds up fewer samples in 16
/// bits and the micro-batches' gradients are added in float32.
class LossScale {
public:
  explicit LossScale(mlir::func::FuncOp program);

  /// A float32 gradient of the loss from one of the scaled loss.
  mlir::Value unscale(mlir::OpBuilder &builder, mlir::Value gradient);

  /// The scale's next value; metrics "loss_scale" (that value, where it adapts)
  /// and "skipped" (1 where the step is, else 0). `norm`: of all gradients of
  /// all ranks.
  void update(mlir::OpBuilder &builder, mlir::Value norm);

  /// `updated`, or `old` in a step that is skipped.
  mlir::Value choose(mlir::OpBuilder &builder, mlir::Value updated,
                     mlir::Value old);

private:
  mlir::func::FuncOp program;
  void adapt(mlir::OpBuilder &builder, mlir::Value norm);

  train::StateOp state;     // null: nothing is scaled
  train::StateOp goodSteps; // null: the scale stays
  mlir::Value isFinite;
};

} // namespace zc

#endif // ZC_PASSES_AUTODIFF_LOSSSCALE_H
