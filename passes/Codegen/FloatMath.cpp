//===- FloatMath.cpp - exponentials, logarithms and their kin -------------===//
//
// Most follow N. Juffa's implementations for GPUs; coefficients are minimax in
// float32. "ulp" is a unit of the last place.
//
//===----------------------------------------------------------------------===//
#include "passes/Codegen/FloatMath.h"

#include "passes/Codegen/FloatNumber.h"

using namespace mlir;

namespace zc::floatmath {

//===----------------------------------------------------------------------===//
// Exponentials
//===----------------------------------------------------------------------===//

// Added to a number below 2^22, it leaves the nearest integer in the last bits.
static constexpr float kRounder = 12582912.0f;
static constexpr float kLog2 = 0.693147182f;

namespace {
/// x = k log 2 + rest. `bits` are k's in the last ones.
struct Reduced {
  Num k, rest;
  Int bits;
};
} // namespace

static Reduced reduceByLog2(Num x) {
  Num rounded = fma(x, 1.44269504f, kRounder);
  Num k = rounded - kRounder;
  Num rest = fma(k, -1.42860677e-6f, fma(k, -0.693145752f, x));
  return {k, rest, rounded.bits()};
}

/// e^rest - 1, |rest| < 0.35.
static Num expm1OfRest(Num rest) {
  Num sum = polynomial(rest, {1.37805939e-3f, 8.37312452e-3f, 4.16695364e-2f,
                              1.66664720e-1f, 4.99999851e-1f});
  return fma(sum, rest * rest, rest);
}

/// 2^shift e^x.
static Num scaledExp(Num x, int shift) {
  Reduced reduced = reduceByLog2(x);
  Num power = expm1OfRest(reduced.rest) + 1.0f;
  // k goes to the exponent; wrong bits beyond its range are selected away.
  Int bits = power.bits() + (reduced.bits << 23);
  if (shift)
    bits = bits + shift * (int64_t(1) << 23);
  float most = 88.72283f - kLog2 * shift, least = -87.33654f - kLog2 * shift;
  Num result = select(x.is(arith::CmpFPredicate::OLE, x.constant(most)),
                      fromBits(bits), x * kInfinity);
  return select(x < least, 0.0f, result);
}

Value buildExp(ImplicitLocOpBuilder &builder, Value x) {
  return scaledExp({&builder, x}, 0).value;
}

Value buildExpM1(ImplicitLocOpBuilder &builder, Value value) {
  Num x{&builder, value};
  Reduced reduced = reduceByLog2(x);
  Num rest = expm1OfRest(reduced.rest);
  // By half of the power, and doubled: there is no 2^128.
  Num half = fromBits((reduced.bits << 23) + 0x3f000000);
  Num scaled = fma(rest, half, half - 0.5f);
  Num result = select(reduced.k == 0.0f, rest, scaled + scaled);
  result = select(x.is(arith::CmpFPredicate::OLE, x.constant(88.72283f)),
                  result, x * kInfinity);
  return select(x < -20.0f, -1.0f, result).value;
}

namespace {
/// A sum as two numbers: the nearest one, and what it loses.
struct Exact {
  Num high, low;
};
} // namespace

/// 1 + x polynomial(x).
static Exact onePlus(Num x, std::initializer_list<float> coefficients) {
  Num sum = polynomial(x, coefficients), high = fma(sum, x, 1.0f);
  return {high, fma(sum, x, x.constant(1.0f) - high)};
}

// A quotient of polynomials, corrected for the rounding errors of both: next to
// 1 an ulp is half of theirs.
Value buildTanh(ImplicitLocOpBuilder &builder, Value value) {
  Num x{&builder, value};
  Num size = select(x.abs() > 9.02f, 9.02f, x.abs()); // NaN stays
  Num square = size * size;
  Exact above = onePlus(
      square, {1.3256293e-08f, 2.05381857e-05f, 0.00349128246f, 0.133774042f});
  Exact below = onePlus(
      square, {7.73633303e-07f, 0.000327859103f, 0.0258606076f, 0.467107266f});
  Num dividend = size * above.high;
  Num left = fma(size, above.low, fma(size, above.high, -dividend));
  Num inverse = x.constant(1.0f) / below.high, guess = dividend * inverse;
  Num rest = fma(-guess, below.high, dividend) + left;
  Num result = fma(fma(-guess, below.low, rest), inverse, guess);
  return select(result > 1.0f, 1.0f, result).withSignOf(x).value;
}

Value buildSinh(ImplicitLocOpBuilder &builder, Value value) {
  Num x{&builder, value}, size = x.abs(), square = x * x;
  Num half = scaledExp(size, -1);
  Num large = half - half.constant(0.25f) / half;
  Num tail =
      polynomial(square, {2.8e-6f, 1.98306e-4f, 8.33346e-3f, 1.6666657e-1f});
  Num small = fma(square * size, tail, size);
  return select(size < 1.0f, small, large).withSignOf(x).value;
}

Value buildCosh(ImplicitLocOpBuilder &builder, Value value) {
  Num half = scaledExp(Num{&builder, value}.abs(), -1);
  return (half + half.constant(0.25f) / half).value;
}

//===----------------------------------------------------------------------===//
// Logarithms
//===----------------------------------------------------------------------===//

// The multiple of 2^23 to take from the bits of x to get into [2/3, 4/3).
static Int exponentOf(Num x) {
  return (x.bits() - 0x3f2aaaab) & static_cast<int32_t>(0xff800000);
}

/// log(1 + x), x in [-1/3, 1/3].
static Num logNearOne(Num x) {
  Num square = x * x;
  Num even = polynomial(
      square, {-0.130310059f, -0.121483833f, -0.166846126f, -0.249996200f});
  Num odd = polynomial(square, {0.140869141f, 0.139814854f, 0.200120345f});
  Num tail = fma(fma(fma(odd, x, even), x, 0.333331972f), x, -0.5f);
  return fma(tail, square, x);
}

/// `result` where x lies inside of the logarithm's range, which begins at
/// `least`; else -infinity, NaN or infinity.
static Num withLimits(Num x, float least, Num result) {
  result = select(x < kInfinity, result, x);
  Num outside = select(x == least, x.constant(-kInfinity), kNan);
  return select(x.isNan(), x, select(x > least, result, outside));
}

Value buildLog(ImplicitLocOpBuilder &builder, Value value) {
  Num x{&builder, value};
  Int subnormal = x < 1.17549435e-38f;
  Num normal = select(subnormal, x * 8388608.0f, x);
  Int exponent = exponentOf(normal);
  Num rest = fromBits(normal.bits() - exponent) - 1.0f;
  Num k = fma(fromInt(exponent), 1.19209290e-7f,
              select(subnormal, x.constant(-23.0f), 0.0f));
  return withLimits(x, 0, fma(k, kLog2, logNearOne(rest))).value;
}

/// log(1 + x). 1 + x = 2^k (1 + rest) where 1 + x need not be rounded.
static Num log1p(Num x) {
  Num sum = x + 1.0f;
  Int exponent = exponentOf(sum);
  Num scale = fromBits(exponent.constant(0x3f800000) - exponent);
  Num rest = select(x < 1e9f, fma(x, scale, scale - 1.0f),
                    fromBits(sum.bits() - exponent) - 1.0f);
  Num k = fromInt(exponent) * 1.19209290e-7f;
  return withLimits(x, -1, fma(k, kLog2, logNearOne(rest)));
}

Value buildLog1P(ImplicitLocOpBuilder &builder, Value x) {
  return log1p({&builder, x}).value;
}

// log(|x| + sqrt(x^2 + 1)); the square of large numbers is none.
Value buildAsinh(ImplicitLocOpBuilder &builder, Value value) {
  Num x{&builder, value}, size = x.abs(), square = size * size;
  Int large = size > 1e9f;
  Num beyond = size + square / ((square + 1.0f).sqrt() + 1.0f);
  Num result = log1p(select(large, size, beyond)) +
               select(large, x.constant(kLog2), 0.0f);
  return result.withSignOf(x).value;
}

Value buildAcosh(ImplicitLocOpBuilder &builder, Value value) {
  Num x{&builder, value}, above = x - 1.0f;
  Int large = x > 1e9f;
  Num beyond = above + fma(above, above, above + above).sqrt();
  Num result =
      log1p(select(large, x, beyond)) + select(large, x.constant(kLog2), 0.0f);
  return select(x < 1.0f, kNan, result).value;
}

Value buildAtanh(ImplicitLocOpBuilder &builder, Value value) {
  Num x{&builder, value}, size = x.abs();
  Num ratio = (size + size) / (size.constant(1.0f) - size);
  return (log1p(ratio) * 0.5f).withSignOf(x).value;
}

//===----------------------------------------------------------------------===//
// The normal distribution
//===----------------------------------------------------------------------===//

Value buildErf(ImplicitLocOpBuilder &builder, Value value) {
  Num x{&builder, value}, size = x.abs(), square = x * x;
  Num tail = fma(size, -1.72853470e-5f, 3.83197126e-4f);
  tail = fma(tail, square, fma(size, -3.88396438e-3f, 2.42546219e-2f));
  tail = fma(tail, size, -1.06777877e-1f);
  tail = fma(tail, size, -6.34846687e-1f);
  tail = fma(tail, size, -1.28717512e-1f);
  Num power = scaledExp(fma(tail, size, -size), 0);
  Num large =
      select(size > 4.0f, x.constant(1.0f), power.constant(1.0f) - power);
  Num small =
      polynomial(square, {-5.96761703e-4f, 4.99119423e-3f, -2.67681349e-2f,
                          1.12819925e-1f, -3.76125336e-1f, 1.28379166e-1f});
  return select(size > 0.927734375f, large.withSignOf(x), fma(small, x, x))
      .value;
}

// e^(-x^2 / 2) D / (sqrt(2 pi) x D + N): the roundings of D hardly show. The
// rounding errors of the square and the quotient are corrected.
Value buildNormalTail(ImplicitLocOpBuilder &builder, Value value,
                      Value factor) {
  Num x{&builder, value}, scale{&builder, factor};
  x = select(x > 15.0f, 15.0f, x);
  Num square = x * x, low = fma(x, x, -square);
  Num d = polynomial(
      x, {0.00570247183f, 0.0507455878f, 0.212263301f, 0.475871503f, 0.5f});
  Num n = polynomial(x, {0.01428096f, 0.12767145f, 0.496315449f, 1.0f});
  Num product = x * d, divisor = fma(product, 2.50662827f, n);
  Num lost = fma(product, 2.50662827f, n - divisor);
  Num inverse = x.constant(1.0f) / divisor;
  Num dividend = scale * d, guess = dividend * inverse;
  Num rest = fma(-guess, lost, fma(-guess, divisor, dividend)) * inverse;
  rest = fma(guess, low * -0.5f, rest);
  Num power = scaledExp(square * -0.5f, 0);
  return fma(power, guess, power * rest).value;
}

} // namespace zc::floatmath
