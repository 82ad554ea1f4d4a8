//===- SparseDecode.cpp - train.sparse_decode -----------------------------===//
#include "dialects/Train/Ops/SparseSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult SparseDecodeOp::verify() {
  return verifySparse(*this, getResult().getType(), getBits().getType(),
                      getOffsets().getType(), getValues().getType());
}

ShardingRule SparseDecodeOp::getShardingRule() {
  ShardingRule rule = ShardingRule::whole(*this);
  rule.linearity[2] = Linearity::Separate; // its elements elsewhere, and zeros
  return rule;
}

double SparseDecodeOp::getFlops() {
  return static_cast<double>(numElements(getResult().getType()));
}

void SparseDecodeOp::buildLinalg(OpBuilder &builder, Location loc,
                                 ValueRange inputs, ValueRange outputs) {
  Value bits = inputs[0], offsets = inputs[1], values = inputs[2];
  buildFill(builder, loc, outputs[0], 0);
  SparseCount nonZeros(builder, loc, values);
  buildSparseLoops(builder, loc, outputs[0], [&](const SparseElement &at) {
    buildIf(builder, loc, at.isBlockStart, [&] {
      nonZeros.store(buildLoad(builder, loc, offsets, {at.block}));
    });
    Value byte = buildLoad(builder, loc, bits, {at.byte});
    Value zero = arith::ConstantIntOp::create(builder, loc, byte.getType(), 0);
    Value set = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ne,
        arith::AndIOp::create(builder, loc, byte, at.mask), zero);
    buildIf(builder, loc, set, [&] {
      nonZeros.pass(nonZeros.load(), [&](Value place) {
        buildStore(builder, loc, buildLoad(builder, loc, values, {place}),
                   outputs[0], at.indices);
      });
    });
  });
}

} // namespace zc::train
