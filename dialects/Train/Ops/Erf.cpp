//===- Erf.cpp - train.erf ------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value ErfOp::buildScalar(OpBuilder &builder, Location loc,
                         ValueRange operands) {
  ScalarBuilder s(builder, loc);
  Value x = operands[0];
  return s.erf(x);
}

LogicalResult ErfOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                         ArrayRef<bool> wanted,
                         MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  Value grad = resultGrads[0];
  // grad 2/sqrt(pi) exp(-x^2)
  Value bell = GaussianOp::create(builder, loc, getInput());
  Value scale = splat(builder, loc, grad.getType(), 1.1283791670955126);
  operandGrads[0] = MulOp::create(builder, loc, grad,
                                  MulOp::create(builder, loc, bell, scale));
  return success();
}

} // namespace zc::train
