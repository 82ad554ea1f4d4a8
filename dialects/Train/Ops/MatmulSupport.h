//===- MatmulSupport.h - matmul and matmul_add ------------------*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_OPS_MATMULSUPPORT_H
#define ZC_DIALECTS_TRAIN_OPS_MATMULSUPPORT_H

#include "dialects/Train/Ops/OpSupport.h"

#include <array>

namespace zc::train {

/// The operands of a product and how they are stored.
struct MatmulShape {
  mlir::Value lhs, rhs;
  bool transposeLhs, transposeRhs;

  /// M, K and N after undoing the transposes.
  std::array<int64_t, 3> extents() const;

  /// Whether one matrix multiplies the rows of all dims but the last, [rows...,
  /// K] x [K, N] -> [rows..., N]: tokens that ranks divide dim by dim.
  bool isOfRows() const;
  /// Whether rows of several dims are summed over, [rows..., M] x [rows..., N]
  /// -> [M, N]: the gradient of such a matrix.
  bool sumsRows(int64_t resultRank) const;
};

/// An error unless the operands multiply to a tensor of type `to`.
mlir::LogicalResult verifyMatmul(mlir::Operation *op, const MatmulShape &shape,
                                 mlir::RankedTensorType to);

/// Adds the product's factors to `rule`, whose operands `lhsIndex` and the next
/// are the product's and whose first result is the product. Without `splitSum`
/// the dims that are summed over must be whole.
void addMatmulFactors(ShardingRule &rule, const MatmulShape &shape,
                      unsigned lhsIndex, bool splitSum);

/// The rule of a product that adds to a sum. With `splitSum` each part of the
/// dims that are summed over adds to the sum of the parts before.
ShardingRule getMatmulAddRule(MatmulAddOp op, bool splitSum);

/// The loops of a product on buffers, and where its elements are in them.
struct MatmulMaps {
  unsigned loops;
  mlir::AffineMap lhs, rhs, result;
};
MatmulMaps getMatmulMaps(mlir::OpBuilder &builder, mlir::ValueRange factors,
                         mlir::Value output, bool transposeLhs,
                         bool transposeRhs);

/// output += lhs rhs, on buffers.
void buildMatmulProduct(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::ValueRange factors, mlir::Value output,
                        bool transposeLhs, bool transposeRhs);

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_OPS_MATMULSUPPORT_H
