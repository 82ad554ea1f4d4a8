//===- Expm1.cpp - train.expm1 ------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value Expm1Op::buildScalar(OpBuilder &builder, Location loc,
                           ValueRange operands) {
  return math::ExpM1Op::create(builder, loc, operands[0]);
}

LogicalResult Expm1Op::vjp(OpBuilder &builder, ValueRange resultGrads,
                           ArrayRef<bool> wanted,
                           MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  // From the operand: far below 0 the result holds no digit of the slope.
  Value slope = ExpOp::create(builder, loc, getInput());
  operandGrads[0] = MulOp::create(builder, loc, resultGrads[0], slope);
  return success();
}

Precision Expm1Op::getPrecision() { return Precision::Wide; }

} // namespace zc::train
