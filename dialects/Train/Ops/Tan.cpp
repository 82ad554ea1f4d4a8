//===- Tan.cpp - train.tan ----------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value TanOp::buildScalar(OpBuilder &builder, Location loc,
                         ValueRange operands) {
  return math::TanOp::create(builder, loc, operands[0]);
}

LogicalResult TanOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                         ArrayRef<bool> wanted,
                         MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  // grad (1 + y^2)
  Value y = getResult();
  Value one = splat(builder, loc, getType(), 1);
  Value slope =
      AddOp::create(builder, loc, one, MulOp::create(builder, loc, y, y));
  operandGrads[0] = MulOp::create(builder, loc, resultGrads[0], slope);
  return success();
}

Precision TanOp::getPrecision() { return Precision::Wide; }

} // namespace zc::train
