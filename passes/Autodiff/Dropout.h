//===- Dropout.h - what training and evaluation make of it ------*- C++ -*-===//
#ifndef ZC_PASSES_AUTODIFF_DROPOUT_H
#define ZC_PASSES_AUTODIFF_DROPOUT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zc {

/// For evaluation: every `train.dropout` is its operand. Random numbers depend
/// on the state `seed` alone: they are the same for every batch.
mlir::LogicalResult dropNothing(mlir::func::FuncOp program);

/// For training: every `train.dropout` becomes a `dropout_training`, each with
/// a key of its own that is new in every step: a function of the states `seed`,
/// which the host writes, `optimizer.step`, and, where a step is accumulated
/// from several micro-batches, `micro_batch`. Random numbers likewise.
mlir::LogicalResult dropElements(mlir::func::FuncOp step, int64_t microBatches);

} // namespace zc

#endif // ZC_PASSES_AUTODIFF_DROPOUT_H
