//===- Indexing.h - places in tensors ---------------------------*- C++ -*-===//
#ifndef ZC_PASSES_IMPORT_LOWERING_INDEXING_H
#define ZC_PASSES_IMPORT_LOWERING_INDEXING_H

#include "passes/Import/Lowering/NodeContext.h"

namespace zc {

/// An error unless operand `index` holds signed integers.
mlir::LogicalResult requireIndices(NodeContext &context, unsigned index);

/// How many elements of the flat tensor one step along each dim is.
llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape);

/// All elements in one dim.
mlir::Value flatten(TensorBuilder &build, mlir::Value value);

/// `sum`, integers of `shape`, plus `stride` times the position along `dim`.
mlir::Value addPositions(TensorBuilder &build, mlir::Value sum,
                         llvm::ArrayRef<int64_t> shape, int64_t dim,
                         int64_t stride);

/// Positions in the flat first operand that the second one, of any shape with
/// as many dims, names along the attribute `axis`; an error if it cannot.
mlir::FailureOr<mlir::Value> elementPositions(NodeContext &context);

/// The first operand as rows [R, inner...], and which of them the second one
/// names, without its last dim.
struct IndexedRows {
  mlir::Value rows, at;
};

/// The last dim of the second operand indexes the dims of the first one that
/// follow `batch` dims, which both have. An error if that does not fit.
mlir::FailureOr<IndexedRows> indexRows(NodeContext &context, int64_t batch);

/// `table` [R, inner...] with the rows at `at` [P...] replaced by `updates`
/// [P..., inner...]; of several for one row the last one counts.
mlir::Value replaceRows(TensorBuilder &build, mlir::Value table, mlir::Value at,
                        mlir::Value updates);

} // namespace zc

#endif // ZC_PASSES_IMPORT_LOWERING_INDEXING_H
