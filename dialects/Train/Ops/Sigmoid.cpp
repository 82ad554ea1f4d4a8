//===- Sigmoid.cpp - train.sigmoid ----------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value SigmoidOp::buildScalar(OpBuilder &builder, Location loc,
                             ValueRange operands) {
  ScalarBuilder s(builder, loc);
  Value x = operands[0];
  return s.div(s.constant(x.getType(), 1),
               s.add(s.constant(x.getType(), 1), s.exp(s.neg(x))));
}

LogicalResult SigmoidOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                             ArrayRef<bool> wanted,
                             MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  Value grad = resultGrads[0];
  // grad y (1 - y)
  Value y = getResult();
  Value one = splat(builder, loc, grad.getType(), 1);
  Value slope =
      MulOp::create(builder, loc, y, SubOp::create(builder, loc, one, y));
  operandGrads[0] = MulOp::create(builder, loc, grad, slope);
  return success();
}

} // namespace zc::train
