//===- PartSupport.h - ops on tensors that are divided ----------*- C++ -*-===//
//
// A dim of n elements that is divided in parts is seen as two, [parts, n /
// parts]: the first is what ranks share, the second is whole on each of them.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_DIALECTS_TRAIN_OPS_PARTSUPPORT_H
#define ZC_DIALECTS_TRAIN_OPS_PARTSUPPORT_H

#include "dialects/Train/Ops/OpSupport.h"

namespace zc::train {

/// Dim `dim` of `value`, of n elements, as two: [parts, n / parts].
mlir::Value splitDim(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value value, int64_t dim, int64_t parts);

/// The numbers 0, 1, ... of the parts, times `factor`, along dim `dim` of
/// `shape`, in the element type `element`.
mlir::Value numberParts(mlir::OpBuilder &builder, mlir::Location loc,
                        llvm::ArrayRef<int64_t> shape, int64_t dim,
                        mlir::Type element, int64_t factor = 1);

/// Where indices [I...] into a dim of `size` elements in `parts` lead.
struct IndexParts {
  mlir::Value part;  // [I...]: which one
  mlir::Value local; // [I...]: where in it
};
IndexParts placeIndices(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value indices, int64_t size, int64_t parts);

/// i1 of `shape`: whether the part that dim `dim` counts is that of
/// `part` [I...], whose dims are `indexDims` of the shape.
mlir::Value isInPart(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value part, llvm::ArrayRef<int64_t> shape,
                     int64_t dim, llvm::ArrayRef<int64_t> indexDims);

/// `value` where `mask` is true, else 0.
mlir::Value maskValue(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value mask, mlir::Value value);

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_OPS_PARTSUPPORT_H
