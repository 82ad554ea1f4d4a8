//===- Softsign.cpp - train.softsign ------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value SoftsignOp::buildScalar(OpBuilder &builder, Location loc,
                              ValueRange operands) {
  ScalarBuilder s(builder, loc);
  Value x = operands[0], one = s.constant(x.getType(), 1);
  return s.div(x, s.add(one, math::AbsFOp::create(builder, loc, x)));
}

LogicalResult SoftsignOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                              ArrayRef<bool> wanted,
                              MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  // grad / (1 + |x|)^2, in two steps: the square may be beyond all numbers.
  Value one = splat(builder, loc, getType(), 1);
  Value divisor =
      AddOp::create(builder, loc, one, AbsOp::create(builder, loc, getInput()));
  Value once = DivOp::create(builder, loc, resultGrads[0], divisor);
  operandGrads[0] = DivOp::create(builder, loc, once, divisor);
  return success();
}

} // namespace zc::train
