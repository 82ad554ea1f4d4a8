//===- Swish.cpp - train.swish ------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

namespace {
/// sigmoid(alpha x) = 1 / (1 + t) or t / (1 + t), t = e^-|alpha x|.
struct Parts {
  Value negative; // alpha x < 0
  FarPower power; // t
  Value inverse;  // 1 / (1 + t)
};
} // namespace

static Parts partsOf(ScalarBuilder &s, Value x, double alpha) {
  Type type = x.getType();
  Value factor = s.constant(type, alpha), scaled = s.mul(x, factor);
  Value zero = s.constant(type, 0), one = s.constant(type, 1);
  Value negative = s.compare(arith::CmpFPredicate::OLT, scaled, zero);
  // Minus |alpha x|, and what the product loses.
  Value low;
  if (alpha != 1) {
    low = s.fma(x, factor, s.neg(scaled));
    low = s.select(negative, low, s.neg(low));
    // An infinite product has lost nothing that counts.
    Value size = math::AbsFOp::create(s.builder, s.loc, scaled);
    low = s.select(
        s.compare(arith::CmpFPredicate::OLT, size, s.constant(type, 1000)), low,
        zero);
  }
  FarPower power = s.farExp(s.select(negative, scaled, s.neg(scaled)), low);
  Value inverse = s.div(one, s.fma(power.value, power.scale, one));
  return {negative, power, inverse};
}

Value SwishOp::buildScalar(OpBuilder &builder, Location loc,
                           ValueRange operands) {
  ScalarBuilder s(builder, loc, arith::FastMathFlags::none);
  Value x = operands[0];
  Parts parts = partsOf(s, x, getAlpha().convertToDouble());
  Value left = s.mul(s.mul(x, s.mul(parts.power.value, parts.inverse)),
                     parts.power.scale);
  return s.select(parts.negative, left, s.mul(x, parts.inverse));
}

LogicalResult SwishOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                           ArrayRef<bool> wanted,
                           MutableArrayRef<Value> operandGrads) {
  // From the input alone, so that no sigmoid is kept for the backward.
  operandGrads[0] = SwishGradOp::create(builder, getLoc(), getType(),
                                        getInput(), resultGrads[0], getAlpha());
  return success();
}

// sigmoid + alpha x sigmoid (1 - sigmoid); of both factors of the last product
// every digit is right.
Value SwishGradOp::buildScalar(OpBuilder &builder, Location loc,
                               ValueRange operands) {
  ScalarBuilder s(builder, loc, arith::FastMathFlags::none);
  Value x = operands[0], grad = operands[1];
  Type type = x.getType();
  double alpha = getAlpha().convertToDouble();
  Parts parts = partsOf(s, x, alpha);
  Value power = parts.power.value, scale = parts.power.scale;
  Value left = s.mul(s.mul(power, parts.inverse), scale);
  Value sigmoid = s.select(parts.negative, left, parts.inverse);
  // An infinite x has the slope 0 or 1.
  Value scaled = s.mul(x, s.constant(type, alpha));
  Value isLarge = s.compare(arith::CmpFPredicate::OGT,
                            math::AbsFOp::create(builder, loc, scaled),
                            s.constant(type, 1000));
  scaled = s.select(isLarge, s.constant(type, 0), scaled);
  Value bend = s.mul(s.mul(scaled, power), s.mul(parts.inverse, parts.inverse));
  return s.mul(grad, s.fma(bend, scale, sigmoid));
}

} // namespace zc::train
