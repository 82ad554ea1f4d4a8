//===- Abs.cpp - train.abs ------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value AbsOp::buildScalar(OpBuilder &builder, Location loc,
                         ValueRange operands) {
  ScalarBuilder s(builder, loc);
  Value x = operands[0];
  return math::AbsFOp::create(builder, loc, x);
}

LogicalResult AbsOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                         ArrayRef<bool> wanted,
                         MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  Value grad = resultGrads[0];
  // grad * sign(x), 0 at 0.
  Value zero = splat(builder, loc, grad.getType(), 0);
  Value positive = compare(builder, loc, Predicate::Gt, getInput(), zero);
  Value negative = compare(builder, loc, Predicate::Lt, getInput(), zero);
  Value minus = NegOp::create(builder, loc, grad);
  Value below = SelectOp::create(builder, loc, negative, minus, zero);
  operandGrads[0] = SelectOp::create(builder, loc, positive, grad, below);
  return success();
}

} // namespace zc::train
