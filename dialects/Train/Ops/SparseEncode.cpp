//===- SparseEncode.cpp - train.sparse_encode -----------------------------===//
#include "dialects/Train/Ops/SparseSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult SparseEncodeOp::verify() {
  return verifySparse(*this, getInput().getType(), getBits().getType(),
                      getOffsets().getType(), getValues().getType());
}

ShardingRule SparseEncodeOp::getShardingRule() {
  return ShardingRule::whole(*this);
}

double SparseEncodeOp::getFlops() {
  return static_cast<double>(numElements(getInput().getType()));
}

/// Whether a float is anything but +0: -0 is not above 0 when it divides.
static Value isSet(OpBuilder &builder, Location loc, Value x) {
  ScalarBuilder s(builder, loc);
  Value zero = s.constant(x.getType(), 0), one = s.constant(x.getType(), 1);
  Value differs = s.compare(arith::CmpFPredicate::UNE, x, zero);
  Value inverse = arith::DivFOp::create(builder, loc, one, x);
  Value negative = s.compare(arith::CmpFPredicate::OLT, inverse, zero);
  return arith::OrIOp::create(builder, loc, differs, negative);
}

void SparseEncodeOp::buildLinalg(OpBuilder &builder, Location loc,
                                 ValueRange inputs, ValueRange outputs) {
  Value bits = outputs[0], offsets = outputs[1], values = outputs[2];
  for (Value output : outputs)
    buildFill(builder, loc, output, 0);
  SparseCount nonZeros(builder, loc, values);
  buildSparseLoops(builder, loc, inputs[0], [&](const SparseElement &at) {
    Value count = nonZeros.load();
    buildIf(builder, loc, at.isBlockStart,
            [&] { buildStore(builder, loc, count, offsets, {at.block}); });
    Value x = buildLoad(builder, loc, inputs[0], at.indices);
    buildIf(builder, loc, isSet(builder, loc, x), [&] {
      Value byte = buildLoad(builder, loc, bits, {at.byte});
      buildStore(builder, loc,
                 arith::OrIOp::create(builder, loc, byte, at.mask), bits,
                 {at.byte});
      nonZeros.pass(count, [&](Value place) {
        buildStore(builder, loc, x, values, {place});
      });
    });
  });
  buildStore(builder, loc, nonZeros.load(), offsets,
             {builder.getIndexAttr(shapeOf(offsets)[0] - 1)});
}

} // namespace zc::train
