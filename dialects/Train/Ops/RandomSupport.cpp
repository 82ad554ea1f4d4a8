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

LogicalResult verifyKeyType(Operation *op, Value key) {
  if (getElementTypeOrSelf(key.getType()).isInteger(64))
    return success();
  return op->emitOpError("expected a key of i64, found ") << key.getType();
}

} // namespace zc::train
