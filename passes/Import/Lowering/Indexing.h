//===- Indexing.h - places in tensors ---------------------------*- C++ -*-===//
#ifndef ZC_PASSES_IMPORT_LOWERING_INDEXING_H
#define ZC_PASSES_IMPORT_LOWERING_INDEXING_H

#include "passes/Import/Lowering/NodeContext.h"

namespace zc {

/// An error unless operand `index` holds signed integers.
mlir::LogicalResult requireIndices(NodeContext &context, unsigned index);

/// How many elements of the flat tensor one step along each dim is.
llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape);

/// All elements in one dim, but for the first `kept` dims.
mlir::Value flatten(TensorBuilder &build, mlir::Value value, int64_t kept = 0);

/// `sum`, integers of `shape`, plus `stride` times the position along `dim`.
mlir::Value addPositions(TensorBuilder &build, mlir::Value sum,
                         llvm::ArrayRef<int64_t> shape, int64_t dim,
                         int64_t stride);

/// Where the elements that GatherElements and its like name lie: in the first
/// operand, flat behind its first `rowDims` dims, at `at`, which has these dims
/// too.
struct ElementPositions {
  mlir::Value at;
  int64_t rowDims;
};

/// The positions that the second operand, of any shape with as many dims, names
/// along the attribute `axis`; an error if it cannot.
mlir::FailureOr<ElementPositions> elementPositions(NodeContext &context);

/// An error unless operand 1 holds indices whose last dim indexes as many dims
/// of operand 0, behind `batch` dims that both have.
mlir::LogicalResult requireIndexVectors(NodeContext &context, int64_t batch);

/// The position in a flat tensor of `sizes` that index vectors name, by those
/// of their elements that `parts` says.
mlir::Value flatPosition(TensorBuilder &build, mlir::Value indices,
                         llvm::ArrayRef<int64_t> parts,
                         llvm::ArrayRef<int64_t> sizes);

mlir::LogicalResult lowerGatherNd(NodeContext &context);

/// `table` [R, inner...] with the rows at `at` [P...] replaced by `updates`
/// [P..., inner...]. Several for one row are equal, as what overlapping windows
/// have found; each of them has the row's gradient.
mlir::Value putRows(TensorBuilder &build, mlir::Value table, mlir::Value at,
                    mlir::Value updates);

} // namespace zc

#endif // ZC_PASSES_IMPORT_LOWERING_INDEXING_H
