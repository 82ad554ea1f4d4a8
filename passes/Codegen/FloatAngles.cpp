//===- FloatAngles.cpp - trigonometric functions and their inverses -------===//
#include "passes/Codegen/FloatMath.h"
#include "passes/Codegen/FloatNumber.h"

using namespace mlir;

namespace zc::floatmath {

//===----------------------------------------------------------------------===//
// Quarter turns
//===----------------------------------------------------------------------===//

// The binary digits of 2 / pi, after 32 zeros.
static constexpr uint32_t kTwoByPi[] = {0x00000000, 0xa2f9836e, 0x4e441529,
                                        0xfc2757d1, 0xf534ddc0, 0xdb629599,
                                        0x3c439041, 0xfe5163ab};

namespace {
/// |x| is `quarters` quarter turns, of which the last bits count, and `rest`,
/// in [-pi / 4, pi / 4].
struct Angle {
  Int quarters;
  Num rest;
};
} // namespace

/// 96 digits of 2 / pi from digit `first` on, as three words of 64 bits.
static std::array<Int, 3> digitsFrom(Int first) {
  using P = arith::CmpIPredicate;
  Int one = first.is(P::uge, 32), two = first.is(P::uge, 64),
      three = first.is(P::uge, 96), four = first.is(P::uge, 128);
  auto word = [&](int64_t at) {
    auto digits = [&](int64_t index) {
      return first.constant(static_cast<int32_t>(kTwoByPi[at + index]));
    };
    Int result = one.select(digits(1), digits(0));
    result = two.select(digits(2), result);
    result = three.select(digits(3), result);
    return four.select(digits(4), result);
  };
  Int shift = (first & 31).wide();
  std::array<Int, 4> words = {word(0).wide(), word(1).wide(), word(2).wide(),
                              word(3).wide()};
  auto joined = [&](int64_t at) {
    return (((words[at] << 32) | words[at + 1]) << shift).down(32);
  };
  return {joined(0), joined(1), joined(2)};
}

/// Payne and Hanek (1983): of the product with 2 / pi only the digits that are
/// not whole turns are computed, 62 of them behind the quarters.
static Angle reduceByQuarters(Num x) {
  Num size = x.abs();
  Int bits = size.bits();
  Int mantissa = ((bits & 0x7fffff) | 0x800000).wide();
  // Angles below pi / 4 are not reduced: their digits here are not used.
  Int exponent = bits.down(23);
  Int tiny = exponent.is(arith::CmpIPredicate::ult, 126);
  std::array<Int, 3> digits =
      digitsFrom(tiny.select(exponent.constant(6), exponent - 120));
  Int product = ((mantissa * digits[0]) << 32) + mantissa * digits[1] +
                (mantissa * digits[2]).down(32);
  Int quarters = (product + (int64_t(1) << 61)).down(62);
  Int rest = product - (quarters << 62);
  // In two halves: processors without AVX-512 convert no more at once.
  OpBuilder &b = *x.b;
  Location loc = x.b->getLoc();
  Type f64 = b.getF64Type();
  auto number = [&](double value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getF64FloatAttr(value));
  };
  Value high = arith::SIToFPOp::create(b, loc, f64, rest.down(32).low().value);
  Value low = arith::SIToFPOp::create(b, loc, f64, (rest.low().down(1)).value);
  Value scaled = math::FmaOp::create(
      b, loc, high, number(4294967296.0 * 1.5707963267948966 * 0x1p-62),
      arith::MulFOp::create(b, loc, low,
                            number(2 * 1.5707963267948966 * 0x1p-62)));
  Num angle{x.b, arith::TruncFOp::create(b, loc, b.getF32Type(), scaled)};
  Int large = size > 0.785398163f;
  return {large.select(quarters.low(), bits.constant(0)),
          select(large, angle, size)};
}

static Num sineOf(Num rest) {
  Num square = rest * rest;
  Num sum = polynomial(square, {2.86567956e-6f, -1.98559923e-4f, 8.33338592e-3f,
                                -1.66666672e-1f});
  return fma(sum, square * rest, rest);
}

static Num cosineOf(Num rest) {
  return polynomial(rest * rest, {2.44677067e-5f, -1.38877297e-3f,
                                  4.16666567e-2f, -0.5f, 1.0f});
}

static Num flipSign(Num x, Int bits) {
  return fromBits(x.bits() ^ (bits & static_cast<int32_t>(0x80000000)));
}

static Num unlessInfinite(Num x, Num result) {
  return select(x.abs() < kInfinity, result, kNan);
}

Value buildSin(ImplicitLocOpBuilder &builder, Value value) {
  Num x{&builder, value};
  Angle angle = reduceByQuarters(x);
  Num result = select((angle.quarters & 1).isNot0(), cosineOf(angle.rest),
                      sineOf(angle.rest));
  result = flipSign(result, (angle.quarters << 30) ^ x.bits());
  return unlessInfinite(x, result).value;
}

Value buildCos(ImplicitLocOpBuilder &builder, Value value) {
  Num x{&builder, value};
  Angle angle = reduceByQuarters(x);
  Num result = select((angle.quarters & 1).isNot0(), sineOf(angle.rest),
                      cosineOf(angle.rest));
  result = flipSign(result, (angle.quarters + 1) << 30);
  return unlessInfinite(x, result).value;
}

Value buildTan(ImplicitLocOpBuilder &builder, Value value) {
  Num x{&builder, value};
  Angle angle = reduceByQuarters(x);
  Num sine = sineOf(angle.rest), cosine = cosineOf(angle.rest);
  Int odd = (angle.quarters & 1).isNot0();
  Num result = select(odd, -cosine, sine) / select(odd, sine, cosine);
  return unlessInfinite(x, flipSign(result, x.bits())).value;
}

//===----------------------------------------------------------------------===//
// Inverses
//===----------------------------------------------------------------------===//

// pi / 2 as a product, more exact than a number.
static Num quarterTurnPlus(Num x) {
  return fma(x.constant(0.93282184640716537f), 1.6839188885261840f, x);
}

Value buildAtan(ImplicitLocOpBuilder &builder, Value value) {
  Num x{&builder, value}, size = x.abs();
  Int steep = size > 1.0f;
  Num ratio = select(steep, x.constant(1.0f) / size, size);
  Num square = ratio * ratio;
  Num sum =
      polynomial(square, {2.78569828e-3f, -1.58660226e-2f, 4.24722321e-2f,
                          -7.49753043e-2f, 1.06448799e-1f, -1.42070308e-1f,
                          1.99934542e-1f, -3.33331466e-1f});
  Num angle = fma(sum * square, ratio, ratio);
  return select(steep, quarterTurnPlus(-angle), angle).withSignOf(x).value;
}

namespace {
/// The arc sine of |x|, or where |x| is large of sqrt((1 - |x|) / 2), half of
/// the arc cosine.
struct ArcSine {
  Int large;
  Num angle;
};
} // namespace

static ArcSine arcSineOf(Num x) {
  Num size = x.abs();
  Int large = size > 0.5625f;
  Num square = select(large, fma(size, -0.5f, 0.5f), x * x);
  Num root = select(large, square.sqrt(), size);
  Num sum = polynomial(square, {5.17513156e-2f, 1.81669723e-2f, 4.67568673e-2f,
                                7.48465881e-2f, 1.66670144e-1f});
  return {large, fma(sum * square, root, root)};
}

Value buildAsin(ImplicitLocOpBuilder &builder, Value value) {
  Num x{&builder, value};
  ArcSine arc = arcSineOf(x);
  Num steep = fma(arc.angle, -2.0f, 1.57079637f) + -4.37113883e-8f;
  return select(arc.large, steep, arc.angle).withSignOf(x).value;
}

Value buildAcos(ImplicitLocOpBuilder &builder, Value value) {
  Num x{&builder, value};
  ArcSine arc = arcSineOf(x);
  Num behind = fma(arc.angle, -2.0f, 3.14159274f) + -8.74227766e-8f;
  Num steep = select(x < 0.0f, behind, arc.angle + arc.angle);
  Num flat = quarterTurnPlus(-arc.angle.withSignOf(x));
  return select(arc.large, steep, flat).value;
}

} // namespace zc::floatmath
