//===- Atanh.cpp - train.atanh ------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value AtanhOp::buildScalar(OpBuilder &builder, Location loc,
                           ValueRange operands) {
  return math::AtanhOp::create(builder, loc, operands[0]);
}

LogicalResult AtanhOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                           ArrayRef<bool> wanted,
                           MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  // Factors keep more digits than 1 - x^2 where x is near 1.
  Value x = getInput(), one = splat(builder, loc, getType(), 1);
  Value product =
      MulOp::create(builder, loc, SubOp::create(builder, loc, one, x),
                    AddOp::create(builder, loc, one, x));
  operandGrads[0] = DivOp::create(builder, loc, resultGrads[0], product);
  return success();
}

} // namespace zc::train
