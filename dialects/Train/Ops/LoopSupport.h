//===- LoopSupport.h - linalg forms built of loops over rows ----*- C++ -*-===//
//
// Composite ops loop over their parallel dims and work on one row at a time:
// slices of the buffers, scalars in registers, linalg ops of few loops.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_DIALECTS_TRAIN_OPS_LOOPSUPPORT_H
#define ZC_DIALECTS_TRAIN_OPS_LOOPSUPPORT_H

#include "dialects/Train/Ops/OpSupport.h"

namespace zc::train {

using Indices = llvm::ArrayRef<mlir::OpFoldResult>;

/// `sizes[dims[0]], sizes[dims[1]], ...`
llvm::SmallVector<int64_t> pick(llvm::ArrayRef<int64_t> sizes,
                                llvm::ArrayRef<int64_t> dims);

/// The dims begin, begin + 1, ..., end - 1.
llvm::SmallVector<int64_t> dimRange(int64_t begin, int64_t end);

/// An index as a value, a constant where it is known.
mlir::Value toIndexValue(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::OpFoldResult index);
llvm::SmallVector<mlir::Value>
toIndexValues(mlir::OpBuilder &builder, mlir::Location loc, Indices indices);

/// A nest of loops over `sizes`, the first outermost. Within `body`, `builder`
/// inserts into the innermost loop.
void buildLoops(mlir::OpBuilder &builder, mlir::Location loc,
                llvm::ArrayRef<int64_t> sizes,
                llvm::function_ref<void(Indices)> body);

/// Cuts `total` into blocks of at most `limit`. `body` gets a block's first
/// index and its size; it is called once for all whole blocks, in a loop over
/// them, and once for what remains.
void buildBlocks(mlir::OpBuilder &builder, mlir::Location loc, int64_t total,
                 int64_t limit,
                 llvm::function_ref<void(mlir::OpFoldResult, int64_t)> body);

/// The part of `buffer` at `indices` of `dims`; these dims disappear.
mlir::Value buildSlice(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value buffer, llvm::ArrayRef<int64_t> dims,
                       Indices indices);

/// `size` elements of `buffer` along `dim`, from `offset` on.
mlir::Value buildBlock(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value buffer, int64_t dim,
                       mlir::OpFoldResult offset, int64_t size);

mlir::Value buildLoad(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value buffer, Indices indices = {});
void buildStore(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                mlir::Value buffer, Indices indices = {});

/// One linalg.generic over buffers of one shape, element by element.
void buildPointwise(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::ValueRange inputs, mlir::ValueRange outputs,
                    ScalarBody body);

/// Folds buffers of one shape to scalars. `accumulators` are temporaries of no
/// dims; each starts at `start`. `body` gets the inputs' elements, then the
/// accumulators' values, and returns the latter's new ones.
llvm::SmallVector<mlir::Value> buildReduction(mlir::OpBuilder &builder,
                                              mlir::Location loc,
                                              mlir::ValueRange inputs,
                                              mlir::ValueRange accumulators,
                                              double start, ScalarBody body);

/// An integer element as an index: a negative one counts from `size`, the
/// result lies in [0, size).
mlir::Value buildClampedIndex(mlir::OpBuilder &builder, mlir::Location loc,
                              mlir::Value integer, int64_t size);

/// An error unless 0 <= dim < rank.
mlir::LogicalResult verifyDim(mlir::Operation *op, llvm::StringRef name,
                              int64_t dim, int64_t rank);

/// An error unless `actual`, the type of what `what` names, is `expected`.
mlir::LogicalResult verifyType(mlir::Operation *op, llvm::StringRef what,
                               mlir::Type actual, mlir::Type expected);
/// The same, but a float of 16 bits may stand for float32 and the other way
/// round.
mlir::LogicalResult verifyTypeOrPrecision(mlir::Operation *op,
                                          llvm::StringRef what,
                                          mlir::Type actual,
                                          mlir::Type expected);

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_OPS_LOOPSUPPORT_H
