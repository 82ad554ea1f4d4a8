//===- BitSupport.cpp - truth values packed in bytes ----------------------===//
#include "dialects/Train/Ops/BitSupport.h"

using namespace mlir;

namespace zc::train {

static int64_t numBytes(int64_t size) { return (size + 7) / 8; }

RankedTensorType packedType(RankedTensorType unpacked, int64_t dim) {
  SmallVector<int64_t> shape(unpacked.getShape());
  shape[dim] = numBytes(shape[dim]);
  return RankedTensorType::get(shape,
                               IntegerType::get(unpacked.getContext(), 8));
}

LogicalResult verifyPacked(Operation *op, RankedTensorType unpacked,
                           Type packed, int64_t dim) {
  if (failed(verifyDim(op, "dim", dim, unpacked.getRank())))
    return failure();
  return verifyType(op, "the packed tensor", packed, packedType(unpacked, dim));
}

ShardingRule packedShardingRule(Operation *op, RankedTensorType unpacked,
                                int64_t dim) {
  ShardingRule rule = ShardingRule::whole(op);
  for (int64_t other : otherDims(unpacked.getRank(), {dim}))
    rule.operandDims[0][other] = rule.resultDims[0][other] =
        rule.addFactor(unpacked.getDimSize(other));
  return rule;
}

SmallVector<PackedRows> packedRows(int64_t size) {
  int64_t bytes = numBytes(size), full = size / bytes, rest = size % bytes;
  SmallVector<PackedRows> rows;
  if (rest > 0)
    rows.push_back({0, rest, full + 1});
  rows.push_back({rest, bytes, full});
  return rows;
}

Value buildRows(OpBuilder &builder, Location loc, Value buffer, int64_t dim,
                int64_t begin, int64_t end) {
  return buildBlock(builder, loc, buffer, dim, builder.getIndexAttr(begin),
                    end - begin);
}

} // namespace zc::train
