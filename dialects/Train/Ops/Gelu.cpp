//===- Gelu.cpp - train.gelu --------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

//===----------------------------------------------------------------------===//
// x Phi(x), Phi the normal distribution
//===----------------------------------------------------------------------===//

/// |x|; beyond the bound the distribution's tail is 0 in any precision.
static Value boundedSize(ScalarBuilder &s, Value x) {
  Value size = math::AbsFOp::create(s.builder, s.loc, x);
  Value bound = s.constant(x.getType(), 40);
  return s.select(s.compare(arith::CmpFPredicate::OGT, size, bound), bound,
                  size);
}

static Value isPositive(ScalarBuilder &s, Value x) {
  return s.compare(arith::CmpFPredicate::OGT, x, s.constant(x.getType(), 0));
}

// max(x, 0) minus |x| times the tail: near 0 on the left, where 1 + erf has few
// digits, the tail has all.
static Value buildExact(ScalarBuilder &s, Value x) {
  Value size = boundedSize(s, x), zero = s.constant(x.getType(), 0);
  Value tail = NormalTailOp::create(s.builder, s.loc, size, size);
  return s.sub(s.max(x, zero), tail);
}

// Phi(x) + x phi(x), phi the density: [x > 0] +- (|x| phi - tail).
static Value buildExactSlope(ScalarBuilder &s, Value x) {
  Type type = x.getType();
  Value size = boundedSize(s, x);
  Value one = s.constant(type, 1), minusHalf = s.constant(type, -0.5);
  Value tail = NormalTailOp::create(s.builder, s.loc, size, one);
  Value square = s.mul(size, size), low = s.fma(size, size, s.neg(square));
  FarPower power = s.farExp(s.mul(square, minusHalf), s.mul(low, minusHalf));
  Value density = s.mul(power.value, s.constant(type, 0.3989422804014327));
  density = s.mul(density, power.scale);
  Value right = s.sub(s.fma(size, density, one), tail);
  Value left = s.fma(s.neg(size), density, tail);
  Value slope = s.select(isPositive(s, x), right, left);
  return s.select(s.compare(arith::CmpFPredicate::UNO, x, x), x, slope);
}

//===----------------------------------------------------------------------===//
// The tanh approximation, x sigmoid(2 u)
//===----------------------------------------------------------------------===//

// 2 u = x (kLinear + kCubic x^2); kLinear comes in two parts, so
// that no difference with the first is rounded.
static constexpr double kLinear = 2 * 0.7978845608028654;
static constexpr double kLinearPart =
    0x1.988450p+0; // 20 digits behind the point
static constexpr double kCubic = kLinear * 0.044715;

namespace {
struct TanhParts {
  Value square, high, low; // 2 u = high + low
};
} // namespace

/// Beyond the bound the result is x or 0.
static Value bounded(ScalarBuilder &s, Value x, bool above) {
  double most = x.getType().isF64() ? 20 : 11;
  Value low = s.constant(x.getType(), -most),
        high = s.constant(x.getType(), most);
  Value bound = s.select(s.compare(arith::CmpFPredicate::OLT, x, low), low, x);
  if (above)
    bound =
        s.select(s.compare(arith::CmpFPredicate::OGT, x, high), high, bound);
  return bound;
}

// In two numbers: the power would show the rounding of one 80 times over.
static TanhParts buildTwiceU(ScalarBuilder &s, Value x) {
  Type type = x.getType();
  double cubic = static_cast<float>(kCubic);
  Value first = s.constant(type, kLinearPart);
  Value linearRest = s.constant(type, kLinear - kLinearPart);
  Value third = s.constant(type, cubic);
  Value thirdRest = s.constant(type, kCubic - cubic);
  Value square = s.mul(x, x), squareRest = s.fma(x, x, s.neg(square));
  Value factor = s.fma(third, square, first);
  Value rest = s.fma(third, square, s.sub(first, factor));
  rest = s.add(rest,
               s.fma(third, squareRest, s.fma(thirdRest, square, linearRest)));
  Value product = s.mul(x, factor);
  Value low = s.fma(x, rest, s.fma(x, factor, s.neg(product)));
  return {square, product, low};
}

static Value buildTanh(ScalarBuilder &s, Value x) {
  TanhParts u = buildTwiceU(s, bounded(s, x, /*above=*/true));
  // x / (1 + e^-2u), both sides times `scale` where e^-2u is beyond all
  // numbers.
  Type type = x.getType();
  Value isFar = s.compare(arith::CmpFPredicate::OLT, u.high,
                          s.constant(type, kFarExponent));
  Value shift = s.constant(type, kFarShift);
  Value scale =
      s.select(isFar, s.constant(type, kFarScale), s.constant(type, 1));
  Value exponent = s.neg(s.select(isFar, s.add(u.high, shift), u.high));
  Value power = s.exp(exponent);
  power = s.fma(power, s.neg(u.low), power);
  Value dividend = s.mul(bounded(s, x, /*above=*/false), scale);
  return s.div(dividend, s.add(scale, power));
}

// sigmoid(2 u) + x sigmoid(2 u) sigmoid(-2 u) (2 u)'
static Value buildTanhSlope(ScalarBuilder &s, Value x) {
  Type type = x.getType();
  Value one = s.constant(type, 1), zero = s.constant(type, 0);
  Value base = bounded(s, x, /*above=*/true);
  TanhParts u = buildTwiceU(s, base);
  Value negative = s.compare(arith::CmpFPredicate::OLT, u.high, zero);
  FarPower power = s.farExp(s.select(negative, u.high, s.neg(u.high)),
                            s.select(negative, u.low, s.neg(u.low)));
  Value inverse = s.div(one, s.fma(power.value, power.scale, one));
  Value left = s.mul(s.mul(power.value, inverse), power.scale);
  Value sigmoid = s.select(negative, left, inverse);
  Value steepness =
      s.fma(u.square, s.constant(type, 3 * kCubic), s.constant(type, kLinear));
  Value bend = s.mul(s.mul(base, steepness),
                     s.mul(s.mul(inverse, inverse), power.value));
  return s.fma(bend, power.scale, sigmoid);
}

//===----------------------------------------------------------------------===//
// The ops
//===----------------------------------------------------------------------===//

Value GeluOp::buildScalar(OpBuilder &builder, Location loc,
                          ValueRange operands) {
  ScalarBuilder s(builder, loc, arith::FastMathFlags::none);
  return getTanh() ? buildTanh(s, operands[0]) : buildExact(s, operands[0]);
}

LogicalResult GeluOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                          ArrayRef<bool> wanted,
                          MutableArrayRef<Value> operandGrads) {
  // One op from the input, so that no intermediate is kept for the backward.
  operandGrads[0] = GeluGradOp::create(builder, getLoc(), getInput().getType(),
                                       getInput(), resultGrads[0], getTanh());
  return success();
}

Value GeluGradOp::buildScalar(OpBuilder &builder, Location loc,
                              ValueRange operands) {
  ScalarBuilder s(builder, loc, arith::FastMathFlags::none);
  Value x = operands[0], grad = operands[1];
  return s.mul(grad, getTanh() ? buildTanhSlope(s, x) : buildExactSlope(s, x));
}

} // namespace zc::train
