//===- RowRegion.h - ops that work row by row around a tensor ---*- C++ -*-===//
//
// A large tensor, [rows..., columns], need not exist whole where all ops that
// make and read it can do so for some of its rows at a time. Their sharding
// rules say so: an op computes its results row by row, or a sum over the rows.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_PASSES_FUSION_ROWREGION_H
#define ZC_PASSES_FUSION_ROWREGION_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <optional>

namespace zc {

/// The dims of a tensor that count rows; several only if they are its first.
struct RowDims {
  int64_t first, count;

  bool operator==(const RowDims &other) const {
    return first == other.first && count == other.count;
  }
};

struct RowRegion {
  mlir::Block *block = nullptr;
  int64_t rows = 0;
  /// In the block's order.
  llvm::SmallVector<mlir::Operation *> ops;
  /// The ops that sum over the rows, each to one result.
  llvm::SmallPtrSet<mlir::Operation *, 8> sums;
  /// The ops that these need, of the region or not.
  llvm::DenseSet<mlir::Operation *> needed;
  /// The rows of the ops' results, and of what each operand reads; those
  /// without rows are whole.
  llvm::DenseMap<mlir::Value, RowDims> results;
  llvm::DenseMap<mlir::OpOperand *, RowDims> operands;
  /// The last op that makes a tensor of all rows and columns.
  mlir::Operation *lastLarge = nullptr;
};

/// Whether a constant or a broadcast has the same for all rows, so that anybody
/// may have it for fewer.
bool isRepeated(mlir::Value value, RowDims rows);

/// The ops that make and read `large`, [rows..., columns], and all tensors of
/// the same rows and columns that they are tied to, with the ops between them
/// that have one number a row; but for what is repeated. None where an op of
/// these wants rows whole, or needs a sum over all of them, and where others
/// read rows of more elements than `large` has.
std::optional<RowRegion> findRowRegion(mlir::Value large);

} // namespace zc

#endif // ZC_PASSES_FUSION_ROWREGION_H
