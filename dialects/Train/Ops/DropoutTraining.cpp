//===- DropoutTraining.cpp - train.dropout_training -----------------------===//
#include "dialects/Train/Ops/RandomSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult DropoutTrainingOp::verify() {
  double ratio = getRatio().convertToDouble();
  if (!(ratio >= 0 && ratio < 1))
    return emitOpError("expected a ratio in [0, 1), found ") << ratio;
  for (Value position : getPositions())
    if (failed(verifyKeyType(*this, position)))
      return failure();
  return verifyKeyType(*this, getKey());
}

// "lowbias32" (Wellons 2018), of 32 bits in each of two rounds: a key and an
// index are 64 bits wide, but lanes of 32 bits have multiplications on every
// CPU.
static Value mix(BitBuilder &b, Value z) {
  z = b.mul(b.mixRight(z, 16), 0x7feb352d);
  z = b.mul(b.mixRight(z, 15), 0x846ca68b);
  return b.mixRight(z, 16);
}

static Value lowerHalf(BitBuilder &b, Value wide) {
  return arith::TruncIOp::create(b.builder, b.loc, b.type, wide);
}

static Value upperHalf(BitBuilder &b, Value wide) {
  BitBuilder w(b.builder, b.loc, wide.getType());
  return lowerHalf(
      b, arith::ShRUIOp::create(b.builder, b.loc, wide, w.constant(32)));
}

/// 32 random bits for an element.
static Value buildBits(OpBuilder &builder, Location loc, Value key,
                       ValueRange positions) {
  BitBuilder b(builder, loc, builder.getI32Type());
  BitBuilder wide(builder, loc, builder.getI64Type());
  Value index = wide.constant(0);
  for (Value position : positions)
    index = wide.add(index, position);
  Value bits = mix(b, b.xorBits(lowerHalf(b, index), lowerHalf(b, key)));
  Value rest = b.xorBits(upperHalf(b, index), upperHalf(b, key));
  return mix(b, b.add(bits, rest));
}

Value DropoutTrainingOp::buildScalar(OpBuilder &builder, Location loc,
                                     ValueRange operands) {
  double ratio = getRatio().convertToDouble();
  Value bits = buildBits(builder, loc, operands[1], operands.drop_front(2));
  BitBuilder b(builder, loc, builder.getI32Type());
  Value limit = b.constant(static_cast<uint64_t>(ratio * 4294967296.0));
  Value keeps = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge,
                                      bits, limit);
  ScalarBuilder s(builder, loc);
  Value x = operands[0];
  Value scaled = s.mul(x, s.constant(x.getType(), 1 / (1 - ratio)));
  return s.select(keeps, scaled, s.constant(x.getType(), 0));
}

LogicalResult DropoutTrainingOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                                     ArrayRef<bool> wanted,
                                     MutableArrayRef<Value> operandGrads) {
  if (wanted[0])
    operandGrads[0] =
        DropoutTrainingOp::create(builder, getLoc(), getType(), resultGrads[0],
                                  getKey(), getPositions(), getRatioAttr());
  return success();
}

} // namespace zc::train
