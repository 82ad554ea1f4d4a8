//===- Pow.cpp - train.pow ----------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value PowOp::buildScalar(OpBuilder &builder, Location loc,
                         ValueRange operands) {
  Value x = operands[0], y = operands[1];
  if (!isa<FloatType>(x.getType()))
    return math::IPowIOp::create(builder, loc, x, y);
  ScalarBuilder s(builder, loc);
  return math::PowFOp::create(builder, loc, x, y, fastMath());
}

LogicalResult PowOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                         ArrayRef<bool> wanted,
                         MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  Value grad = resultGrads[0];
  Value x = getLhs(), y = getRhs();
  Value zero = splat(builder, loc, grad.getType(), 0);
  if (wanted[0]) {
    // grad y x^(y-1); where y is 0 the slope is 0, also at x = 0.
    Value one = splat(builder, loc, grad.getType(), 1);
    Value power =
        PowOp::create(builder, loc, x, SubOp::create(builder, loc, y, one));
    Value slope = MulOp::create(builder, loc, y, power);
    Value isConstant = compare(builder, loc, "eq", y, zero);
    slope = SelectOp::create(builder, loc, isConstant, zero, slope);
    operandGrads[0] = MulOp::create(builder, loc, grad, slope);
  }
  if (wanted[1]) {
    // grad x^y log x, and 0 at x = 0 as in PyTorch.
    Value slope = MulOp::create(builder, loc, getResult(),
                                LogOp::create(builder, loc, x));
    Value atZero = compare(builder, loc, "eq", x, zero);
    slope = SelectOp::create(builder, loc, atZero, zero, slope);
    operandGrads[1] = MulOp::create(builder, loc, grad, slope);
  }
  return success();
}

Precision PowOp::getPrecision() { return Precision::Wide; }

} // namespace zc::train
