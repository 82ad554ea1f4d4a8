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

/// y x^(y - 1), 0 where y is 0. Below 1/2, y - 1 is rounded, which the power
/// shows |log x| times over: there it is y x^y / x, but at x = 0.
static Value buildSlope(OpBuilder &builder, Location loc, Value x, Value y) {
  Type type = y.getType();
  auto number = [&](double value) { return splat(builder, loc, type, value); };
  Value zero = number(0);
  Value divides = AndOp::create(
      builder, loc, compare(builder, loc, Predicate::Lt, y, number(0.5)),
      compare(builder, loc, Predicate::Ne, x, zero));
  Value less = SubOp::create(builder, loc, y, number(1));
  Value exponent = SelectOp::create(builder, loc, divides, y, less);
  Value power = PowOp::create(builder, loc, x, exponent);
  Value quotient = DivOp::create(builder, loc, power, x);
  power = SelectOp::create(builder, loc, divides, quotient, power);
  Value slope = MulOp::create(builder, loc, y, power);
  return SelectOp::create(
      builder, loc, compare(builder, loc, Predicate::Eq, y, zero), zero, slope);
}

LogicalResult PowOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                         ArrayRef<bool> wanted,
                         MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  Value grad = resultGrads[0];
  Value x = getLhs(), y = getRhs();
  Value zero = splat(builder, loc, grad.getType(), 0);
  if (wanted[0])
    operandGrads[0] =
        MulOp::create(builder, loc, grad, buildSlope(builder, loc, x, y));
  if (wanted[1]) {
    // grad x^y log x, and 0 at x = 0 as in PyTorch.
    Value slope = MulOp::create(builder, loc, getResult(),
                                LogOp::create(builder, loc, x));
    Value atZero = compare(builder, loc, Predicate::Eq, x, zero);
    slope = SelectOp::create(builder, loc, atZero, zero, slope);
    operandGrads[1] = MulOp::create(builder, loc, grad, slope);
  }
  return success();
}

Precision PowOp::getPrecision() { return Precision::Wide; }

} // namespace zc::train
