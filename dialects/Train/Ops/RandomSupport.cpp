//===- RandomSupport.cpp - what counter-based random ops share ------------===//
#include "dialects/Train/Ops/RandomSupport.h"

using namespace mlir;

namespace zc::train {

Value BitBuilder::constant(uint64_t value) {
  APInt bits(type.getIntOrFloatBitWidth(), value, /*isSigned=*/false,
             /*implicitTrunc=*/true);
  return arith::ConstantOp::create(builder, loc, IntegerAttr::get(type, bits));
}

Value BitBuilder::add(Value a, Value b) {
  return arith::AddIOp::create(builder, loc, a, b);
}

Value BitBuilder::xorBits(Value a, Value b) {
  return arith::XOrIOp::create(builder, loc, a, b);
}

Value BitBuilder::mul(Value a, uint64_t factor) {
  return arith::MulIOp::create(builder, loc, a, constant(factor));
}

Value BitBuilder::mixRight(Value a, unsigned bits) {
  return xorBits(a, arith::ShRUIOp::create(builder, loc, a, constant(bits)));
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

Value buildRandomBits(OpBuilder &builder, Location loc, Value key,
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

Value buildUniform(OpBuilder &builder, Location loc, Value bits, Type type) {
  BitBuilder b(builder, loc, builder.getI32Type());
  Value upper = arith::ShRUIOp::create(builder, loc, bits, b.constant(8));
  // Signed conversion is an instruction of every CPU; the sign is never set.
  Value number = arith::SIToFPOp::create(builder, loc, type, upper);
  ScalarBuilder s(builder, loc);
  return s.mul(number, s.constant(type, 0x1p-24));
}

LogicalResult verifyRandomOperands(Operation *op, Value key,
                                   ValueRange positions) {
  for (Value position : positions)
    if (failed(verifyKeyType(op, position)))
      return failure();
  return verifyKeyType(op, key);
}

LogicalResult verifyKeyType(Operation *op, Value key) {
  if (getElementTypeOrSelf(key.getType()).isInteger(64))
    return success();
  return op->emitOpError("expected a key of i64, found ") << key.getType();
}

} // namespace zc::train
