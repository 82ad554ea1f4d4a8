//===- Tanh.cpp - train.tanh ----------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value TanhOp::buildScalar(OpBuilder &builder, Location loc,
                          ValueRange operands) {
  ScalarBuilder s(builder, loc);
  Value x = operands[0];
  return s.tanh(x);
}

LogicalResult TanhOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                          ArrayRef<bool> wanted,
                          MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  Value grad = resultGrads[0];
  // grad (1 - y^2)
  Value y = getResult();
  Value one = splat(builder, loc, grad.getType(), 1);
  Value square = MulOp::create(builder, loc, y, y);
  Value slope = SubOp::create(builder, loc, one, square);
  operandGrads[0] = MulOp::create(builder, loc, grad, slope);
  return success();
}

} // namespace zc::train
