//===- Atan.cpp - train.atan ------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value AtanOp::buildScalar(OpBuilder &builder, Location loc,
                          ValueRange operands) {
  return math::AtanOp::create(builder, loc, operands[0]);
}

LogicalResult AtanOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                          ArrayRef<bool> wanted,
                          MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  Value x = getInput();
  Value square = MulOp::create(builder, loc, x, x);
  Value one = splat(builder, loc, getType(), 1);
  Value divisor = AddOp::create(builder, loc, one, square);
  operandGrads[0] = DivOp::create(builder, loc, resultGrads[0], divisor);
  return success();
}

} // namespace zc::train
