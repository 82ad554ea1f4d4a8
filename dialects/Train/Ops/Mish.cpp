//===- Mish.cpp - train.mish --------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

namespace {
/// tanh(softplus(x)) = n / (n + 2), n = e^x (e^x + 2). `dividend` is n and
/// `power` e^x but for the scale.
struct Parts {
  FarPower power;
  Value dividend, divisor, bounded;
};
} // namespace

// From 40 on nothing changes, and e^2x would be infinite later on.
static Parts partsOf(ScalarBuilder &s, Value x) {
  Type type = x.getType();
  Value bound = s.constant(type, 40), two = s.constant(type, 2);
  Value bounded =
      s.select(s.compare(arith::CmpFPredicate::OGT, x, bound), bound, x);
  FarPower power = s.farExp(bounded, Value());
  Value dividend = s.mul(power.value, s.fma(power.value, power.scale, two));
  return {power, dividend, s.fma(dividend, power.scale, two), bounded};
}

Value MishOp::buildScalar(OpBuilder &builder, Location loc,
                          ValueRange operands) {
  ScalarBuilder s(builder, loc, arith::FastMathFlags::none);
  Parts parts = partsOf(s, operands[0]);
  Value ratio = s.div(parts.dividend, parts.divisor);
  return s.mul(s.mul(operands[0], ratio), parts.power.scale);
}

LogicalResult MishOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                          ArrayRef<bool> wanted,
                          MutableArrayRef<Value> operandGrads) {
  operandGrads[0] = MishGradOp::create(builder, getLoc(), getType(), getInput(),
                                       resultGrads[0]);
  return success();
}

// n / (n + 2) + 4 x e^x (e^x + 1) / (n + 2)^2
Value MishGradOp::buildScalar(OpBuilder &builder, Location loc,
                              ValueRange operands) {
  ScalarBuilder s(builder, loc, arith::FastMathFlags::none);
  Value x = operands[0], grad = operands[1];
  Type type = x.getType();
  Value one = s.constant(type, 1), four = s.constant(type, 4);
  Parts parts = partsOf(s, x);
  Value power = parts.power.value, scale = parts.power.scale;
  Value inverse = s.div(one, parts.divisor);
  Value ratio = s.mul(parts.dividend, inverse);
  Value slope = s.mul(s.mul(power, four), s.fma(power, scale, one));
  slope = s.mul(s.mul(slope, inverse), inverse);
  Value sum = s.fma(parts.bounded, slope, ratio);
  return s.mul(grad, s.mul(sum, scale));
}

} // namespace zc::train
