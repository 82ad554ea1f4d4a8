//===- WeightReads.h - where weights are read -------------------*- C++ -*-===//
#ifndef ZC_PASSES_SHARDING_WEIGHTREADS_H
#define ZC_PASSES_SHARDING_WEIGHTREADS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zc {

/// Puts all that is made of parameters alone (the weight of a norm in its
/// input's shape, 1 more than a weight) in front of its first reader, so that
/// parameters are gathered for that one and no sooner. The ops behind `loss`,
/// which may be null, get copies of their own: parameters gathered for the
/// forward need not stay for the backward.
void placeWeightReads(mlir::func::FuncOp program, mlir::Operation *loss);

/// Whether `use` stands behind `loss`, which may be null.
bool isBackward(mlir::Operation *use, mlir::Operation *loss);

/// `vector`, which holds what `arguments` stand for, in the type to which all
/// readers of these, in the forward or in the backward, round them
/// (roundsParameter); as it is where one reads all digits.
mlir::Value roundAsRead(mlir::OpBuilder &builder, mlir::Value vector,
                        llvm::ArrayRef<mlir::BlockArgument> arguments,
                        mlir::Operation *loss, bool backward);

/// Whether `op` makes `whole`, which is gathered, perhaps after it was rounded.
bool makesGathered(mlir::Operation *op, mlir::Value whole);

/// Reads `value` in place of `use`'s, or, if it is rounded already, in place of
/// what `use`'s owner rounds.
void replaceRead(mlir::OpOperand &use, mlir::Value value);

} // namespace zc

#endif // ZC_PASSES_SHARDING_WEIGHTREADS_H
