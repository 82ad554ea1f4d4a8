//===- SparseDecode.cpp - train.sparse_decode -----------------------------===//
#include "dialects/Train/Ops/SparseSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult SparseDecodeOp::verify() {
  return verifySparse(*this, getResult().getType(), getBits().getType(),
                      getOffsets().getType(), getValues().getType());
}

ShardingRule SparseDecodeOp::getShardingRule() {
  return ShardingRule::whole(*this);
}

double SparseDecodeOp::getFlops() {
  return static_cast<double>(numElements(getResult().getType()));
}

void SparseDecodeOp::buildLinalg(OpBuilder &builder, Location loc,
                                 ValueRange inputs, ValueRange outputs) {
  Value bits = inputs[0], offsets = inputs[1], values = inputs[2];
  buildFill(builder, loc, outputs[0], 0);
  Type integer = builder.getI64Type();
  Value counter = buildTemporary(builder, loc, {}, integer);
  buildFill(builder, loc, counter, 0);
  Value one = arith::ConstantIntOp::create(builder, loc, integer, 1);
  Value capacity =
      arith::ConstantIntOp::create(builder, loc, integer, shapeOf(values)[0]);
  buildSparseLoops(builder, loc, outputs[0], [&](const SparseElement &at) {
    buildIf(builder, loc, at.isBlockStart, [&] {
      buildStore(builder, loc, buildLoad(builder, loc, offsets, {at.block}),
                 counter);
    });
    Value byte = buildLoad(builder, loc, bits, {at.byte});
    Value zero = arith::ConstantIntOp::create(builder, loc, byte.getType(), 0);
    Value set = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ne,
        arith::AndIOp::create(builder, loc, byte, at.mask), zero);
    buildIf(builder, loc, set, [&] {
      Value count = buildLoad(builder, loc, counter);
      // Unsigned: nor is anything read before the first value.
      Value fits = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::ult, count, capacity);
      buildIf(builder, loc, fits, [&] {
        Value place = arith::IndexCastOp::create(builder, loc,
                                                 builder.getIndexType(), count);
        buildStore(builder, loc, buildLoad(builder, loc, values, {place}),
                   outputs[0], at.indices);
      });
      buildStore(builder, loc, arith::AddIOp::create(builder, loc, count, one),
                 counter);
    });
  });
}

} // namespace zc::train
