//===- DoubleMath.cpp - float64 functions for GPUs ------------------------===//
#include "passes/Codegen/Cuda/DoubleMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;

namespace zc::cuda {

namespace {

// log 2 in two parts: the first has trailing zeros, so that a product with an
// exponent is exact.
constexpr double kLog2High = 6.93147180369123816490e-01;
constexpr double kLog2Low = 1.90821492927058770002e-10;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Scalars of float64 and int64.
class Builder64 {
public:
  Builder64(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  Value f(double value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getF64FloatAttr(value));
  }
  Value i(int64_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI64IntegerAttr(value));
  }
  Value add(Value a, Value b) { return make<arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) { return make<arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) { return make<arith::MulFOp>(a, b); }
  Value div(Value a, Value b) { return make<arith::DivFOp>(a, b); }
  Value addI(Value a, Value b) { return make<arith::AddIOp>(a, b); }
  Value subI(Value a, Value b) { return make<arith::SubIOp>(a, b); }
  Value andI(Value a, Value b) { return make<arith::AndIOp>(a, b); }
  Value orI(Value a, Value b) { return make<arith::OrIOp>(a, b); }
  Value shift(Value a, int64_t by) { return make<arith::ShLIOp>(a, i(by)); }
  Value shiftDown(Value a, int64_t by) {
    return make<arith::ShRSIOp>(a, i(by));
  }
  Value fma(Value a, Value b, Value c) {
    return math::FmaOp::create(builder, loc, a, b, c);
  }
  Value round(Value a) { return math::RoundEvenOp::create(builder, loc, a); }
  Value sqrt(Value a) { return math::SqrtOp::create(builder, loc, a); }
  Value withSignOf(Value a, Value other) {
    return math::CopySignOp::create(builder, loc, a, other);
  }
  Value abs(Value a) { return math::AbsFOp::create(builder, loc, a); }
  Value is(arith::CmpFPredicate predicate, Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, predicate, a, b);
  }
  Value less(Value a, Value b) { return is(arith::CmpFPredicate::OLT, a, b); }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  Value bits(Value a) {
    return arith::BitcastOp::create(builder, loc, builder.getI64Type(), a);
  }
  Value number(Value bits) {
    return arith::BitcastOp::create(builder, loc, builder.getF64Type(), bits);
  }
  Value toInt(Value a) {
    return arith::FPToSIOp::create(builder, loc, builder.getI64Type(), a);
  }
  Value toFloat(Value a) {
    return arith::SIToFPOp::create(builder, loc, builder.getF64Type(), a);
  }
  /// 2^exponent, of a normal number.
  Value power(Value exponent) {
    return number(shift(addI(exponent, i(1023)), 52));
  }
  Value negated(Value a) { return arith::NegFOp::create(builder, loc, a); }
  Value isOdd(Value integer) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                 andI(integer, i(1)), i(0));
  }

private:
  template <typename Op> Value make(Value a, Value b) {
    return Op::create(builder, loc, a, b);
  }

  OpBuilder &builder;
  Location loc;
};

} // namespace

Value buildExp(OpBuilder &builder, Location loc, Value x) {
  Builder64 b(builder, loc);
  // Beyond these lie infinity and zero.
  Value clamped = b.select(b.less(x, b.f(-746)), b.f(-746), x);
  clamped = b.select(b.less(clamped, b.f(710)), clamped, b.f(710));
  Value k = b.round(b.mul(clamped, b.f(1.44269504088896338700)));
  Value rest = b.fma(k, b.f(-kLog2High), clamped);
  rest = b.fma(k, b.f(-kLog2Low), rest);
  double factorial = 6227020800; // 13!
  Value sum = b.f(1 / factorial);
  for (int i = 13; i > 0; --i) {
    factorial /= i;
    sum = b.fma(sum, rest, b.f(1 / factorial));
  }
  // 2^k in two factors: k may lie outside of what one exponent holds.
  Value exponent = b.toInt(k), half = b.shiftDown(exponent, 1);
  Value result =
      b.mul(b.mul(sum, b.power(half)), b.power(b.subI(exponent, half)));
  return b.select(b.is(arith::CmpFPredicate::UNO, x, x), x, result);
}

Value buildLog(OpBuilder &builder, Location loc, Value x) {
  Builder64 b(builder, loc);
  // Subnormal numbers have no leading one.
  Value small = b.less(x, b.f(std::numeric_limits<double>::min()));
  Value scaled = b.select(small, b.mul(x, b.f(0x1p54)), x);
  Value bits = b.bits(scaled);
  Value exponent = b.subI(b.andI(b.shiftDown(bits, 52), b.i(0x7ff)),
                          b.select(small, b.i(1023 + 54), b.i(1023)));
  Value mantissa = b.number(
      b.orI(b.andI(bits, b.i(0xfffffffffffff)), b.i(int64_t(1023) << 52)));
  // Into [sqrt(1/2), sqrt(2)).
  Value large = b.less(b.f(1.41421356237309504880), mantissa);
  mantissa = b.select(large, b.mul(mantissa, b.f(0.5)), mantissa);
  exponent = b.select(large, b.addI(exponent, b.i(1)), exponent);
  // log m = 2 artanh((m - 1) / (m + 1))
  Value ratio = b.div(b.sub(mantissa, b.f(1)), b.add(mantissa, b.f(1)));
  Value square = b.mul(ratio, ratio);
  Value sum = b.f(2.0 / 25);
  for (int i = 23; i > 1; i -= 2)
    sum = b.fma(sum, square, b.f(2.0 / i));
  Value tail = b.mul(b.mul(sum, square), ratio);
  Value scale = b.toFloat(exponent);
  Value result =
      b.add(b.add(b.fma(scale, b.f(kLog2Low), tail), b.mul(ratio, b.f(2))),
            b.mul(scale, b.f(kLog2High)));
  using P = arith::CmpFPredicate;
  Value nan = b.f(std::numeric_limits<double>::quiet_NaN());
  result = b.select(b.is(P::OEQ, x, b.f(0)), b.f(-kInfinity), result);
  result = b.select(b.is(P::OEQ, x, b.f(kInfinity)), x, result);
  return b.select(b.is(P::UGE, x, b.f(0)),
                  b.select(b.is(P::UNO, x, x), x, result), nan);
}

Value buildPow(OpBuilder &builder, Location loc, Value x, Value y) {
  Builder64 b(builder, loc);
  using P = arith::CmpFPredicate;
  Value size =
      buildExp(builder, loc, b.mul(y, buildLog(builder, loc, b.abs(x))));
  // Numbers from 2^53 on are even.
  Value isSmall = b.less(b.abs(y), b.f(0x1p53));
  Value isOdd = b.isOdd(b.toInt(b.select(isSmall, y, b.f(0))));
  Value signedPower = b.select(isOdd, b.negated(size), size);
  Value isWhole = b.is(P::OEQ, b.round(y), y);
  Value ofNegative = b.select(isWhole, signedPower,
                              b.f(std::numeric_limits<double>::quiet_NaN()));
  Value result = b.select(b.less(x, b.f(0)), ofNegative, size);
  return b.select(b.is(P::OEQ, y, b.f(0)), b.f(1), result);
}

//===----------------------------------------------------------------------===//
// Around zero (W. Kahan): the rounding of e^x, or of 1 + x, is in both parts of
// a quotient
//===----------------------------------------------------------------------===//

Value buildExpM1(OpBuilder &builder, Location loc, Value x) {
  Builder64 b(builder, loc);
  using P = arith::CmpFPredicate;
  Value power = buildExp(builder, loc, x);
  Value rest = b.sub(power, b.f(1));
  Value exact = b.mul(rest, b.div(x, buildLog(builder, loc, power)));
  Value far = b.is(P::OGT, b.abs(x), b.f(1));
  Value near = b.select(b.is(P::OEQ, power, b.f(1)), x, exact);
  return b.select(far, rest, near);
}

Value buildLog1P(OpBuilder &builder, Location loc, Value x) {
  Builder64 b(builder, loc);
  using P = arith::CmpFPredicate;
  Value sum = b.add(x, b.f(1)), log = buildLog(builder, loc, sum);
  Value exact = b.mul(log, b.div(x, b.sub(sum, b.f(1))));
  Value far = b.is(P::OGT, b.abs(x), b.f(1));
  Value near = b.select(b.is(P::OEQ, sum, b.f(1)), x, exact);
  return b.select(far, log, near);
}

Value buildSinh(OpBuilder &builder, Location loc, Value x) {
  Builder64 b(builder, loc);
  Value rest = buildExpM1(builder, loc, b.abs(x));
  Value far = b.is(arith::CmpFPredicate::OGT, b.abs(x), b.f(40));
  Value near = b.div(rest, b.add(rest, b.f(1)));
  Value sum = b.add(rest, b.select(far, b.f(1), near));
  return b.withSignOf(b.mul(sum, b.f(0.5)), x);
}

Value buildCosh(OpBuilder &builder, Location loc, Value x) {
  Builder64 b(builder, loc);
  Value half = b.mul(buildExp(builder, loc, b.abs(x)), b.f(0.5));
  return b.add(half, b.div(b.f(0.25), half));
}

Value buildAsinh(OpBuilder &builder, Location loc, Value x) {
  Builder64 b(builder, loc);
  Value size = b.abs(x),
        large = b.is(arith::CmpFPredicate::OGT, size, b.f(1e20));
  Value square = b.mul(size, size);
  Value root = b.sqrt(b.add(square, b.f(1)));
  Value beyond = b.add(size, b.div(square, b.add(root, b.f(1))));
  Value log = buildLog1P(builder, loc, b.select(large, size, beyond));
  Value rest = b.select(large, b.f(kLog2High + kLog2Low), b.f(0));
  return b.withSignOf(b.add(log, rest), x);
}

Value buildAcosh(OpBuilder &builder, Location loc, Value x) {
  Builder64 b(builder, loc);
  Value above = b.sub(x, b.f(1));
  Value large = b.is(arith::CmpFPredicate::OGT, x, b.f(1e20));
  Value root = b.sqrt(b.mul(above, b.add(above, b.f(2))));
  Value log = buildLog1P(builder, loc, b.select(large, x, b.add(above, root)));
  Value rest = b.select(large, b.f(kLog2High + kLog2Low), b.f(0));
  Value nan = b.f(std::numeric_limits<double>::quiet_NaN());
  return b.select(b.less(x, b.f(1)), nan, b.add(log, rest));
}

Value buildAtanh(OpBuilder &builder, Location loc, Value x) {
  Builder64 b(builder, loc);
  Value size = b.abs(x);
  Value ratio = b.div(b.add(size, size), b.sub(b.f(1), size));
  Value log = buildLog1P(builder, loc, ratio);
  return b.withSignOf(b.mul(log, b.f(0.5)), x);
}

} // namespace zc::cuda
