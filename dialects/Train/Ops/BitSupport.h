//===- BitSupport.h - truth values packed in bytes --------------*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_OPS_BITSUPPORT_H
#define ZC_DIALECTS_TRAIN_OPS_BITSUPPORT_H

#include "dialects/Train/Ops/LoopSupport.h"

namespace zc::train {

/// The type of the bytes that hold a bit for every element of `unpacked`.
mlir::RankedTensorType packedType(mlir::RankedTensorType unpacked, int64_t dim);

/// Checks bytes against what they hold bits of.
mlir::LogicalResult verifyPacked(mlir::Operation *op,
                                 mlir::RankedTensorType unpacked,
                                 mlir::Type packed, int64_t dim);

/// All dims but `dim` are parallel.
ShardingRule packedShardingRule(mlir::Operation *op,
                                mlir::RankedTensorType unpacked, int64_t dim);

/// The rows [begin, end) of bytes, `bits` of which have elements in every byte.
struct PackedRows {
  int64_t begin, end, bits;
};

/// The packed rows of a dim of `size` elements: one or two stretches.
llvm::SmallVector<PackedRows> packedRows(int64_t size);

/// The elements begin, ..., end - 1 of `buffer` along `dim`.
mlir::Value buildRows(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value buffer, int64_t dim, int64_t begin,
                      int64_t end);

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_OPS_BITSUPPORT_H
