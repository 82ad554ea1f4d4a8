//===- FloatNumber.h - float32 and integer scalars as numbers ---*- C++ -*-===//
#ifndef ZC_PASSES_CODEGEN_FLOATNUMBER_H
#define ZC_PASSES_CODEGEN_FLOATNUMBER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <limits>

namespace zc::floatmath {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// An integer of 32 or 64 bits, or a bit; operators emit arith ops.
struct Int {
  mlir::ImplicitLocOpBuilder *b;
  mlir::Value value;

  Int constant(int64_t number) const {
    return {b, mlir::arith::ConstantOp::create(
                   *b, b->getIntegerAttr(value.getType(), number))};
  }
  template <typename Op> Int make(Int other) const {
    return {b, Op::create(*b, value, other.value)};
  }
  Int operator+(Int o) const { return make<mlir::arith::AddIOp>(o); }
  Int operator-(Int o) const { return make<mlir::arith::SubIOp>(o); }
  Int operator*(Int o) const { return make<mlir::arith::MulIOp>(o); }
  Int operator&(Int o) const { return make<mlir::arith::AndIOp>(o); }
  Int operator|(Int o) const { return make<mlir::arith::OrIOp>(o); }
  Int operator^(Int o) const { return make<mlir::arith::XOrIOp>(o); }
  Int operator<<(Int o) const { return make<mlir::arith::ShLIOp>(o); }
  Int operator+(int64_t n) const { return *this + constant(n); }
  Int operator-(int64_t n) const { return *this - constant(n); }
  Int operator&(int64_t n) const { return *this & constant(n); }
  Int operator|(int64_t n) const { return *this | constant(n); }
  Int operator<<(int64_t n) const { return *this << constant(n); }
  /// Without the sign, and with it.
  Int down(int64_t n) const { return make<mlir::arith::ShRUIOp>(constant(n)); }
  Int signedDown(int64_t n) const {
    return make<mlir::arith::ShRSIOp>(constant(n));
  }
  Int is(mlir::arith::CmpIPredicate predicate, int64_t number) const {
    return {b, mlir::arith::CmpIOp::create(*b, predicate, value,
                                           constant(number).value)};
  }
  Int isNot0() const { return is(mlir::arith::CmpIPredicate::ne, 0); }
  /// Zero-extends 32 bits to 64; low() truncates back.
  Int wide() const {
    return {b, mlir::arith::ExtUIOp::create(*b, b->getI64Type(), value)};
  }
  Int low() const {
    return {b, mlir::arith::TruncIOp::create(*b, b->getI32Type(), value)};
  }
  Int select(Int yes, Int no) const {
    return {b, mlir::arith::SelectOp::create(*b, value, yes.value, no.value)};
  }
};

/// A float32 scalar; operators emit arith ops that nothing may reorder.
struct Num {
  mlir::ImplicitLocOpBuilder *b;
  mlir::Value value;

  Num constant(float number) const {
    return {b, mlir::arith::ConstantOp::create(*b, b->getF32FloatAttr(number))};
  }
  Num operator+(Num o) const {
    return {b, mlir::arith::AddFOp::create(*b, value, o.value)};
  }
  Num operator-(Num o) const {
    return {b, mlir::arith::SubFOp::create(*b, value, o.value)};
  }
  Num operator*(Num o) const {
    return {b, mlir::arith::MulFOp::create(*b, value, o.value)};
  }
  Num operator/(Num o) const {
    return {b, mlir::arith::DivFOp::create(*b, value, o.value)};
  }
  Num operator-() const { return {b, mlir::arith::NegFOp::create(*b, value)}; }
  Num operator+(float n) const { return *this + constant(n); }
  Num operator-(float n) const { return *this - constant(n); }
  Num operator*(float n) const { return *this * constant(n); }

  Int is(mlir::arith::CmpFPredicate predicate, Num o) const {
    return {b, mlir::arith::CmpFOp::create(*b, predicate, value, o.value)};
  }
  // False where either is NaN.
  Int operator<(float n) const {
    return is(mlir::arith::CmpFPredicate::OLT, constant(n));
  }
  Int operator>(float n) const {
    return is(mlir::arith::CmpFPredicate::OGT, constant(n));
  }
  Int operator==(float n) const {
    return is(mlir::arith::CmpFPredicate::OEQ, constant(n));
  }
  Int isNan() const { return is(mlir::arith::CmpFPredicate::UNO, *this); }
  Int bits() const {
    return {b, mlir::arith::BitcastOp::create(*b, b->getI32Type(), value)};
  }
  Num abs() const { return {b, mlir::math::AbsFOp::create(*b, value)}; }
  Num sqrt() const { return {b, mlir::math::SqrtOp::create(*b, value)}; }
  Num withSignOf(Num o) const {
    return {b, mlir::math::CopySignOp::create(*b, value, o.value)};
  }
};

inline Num fma(Num x, Num y, Num z) {
  return {x.b, mlir::math::FmaOp::create(*x.b, x.value, y.value, z.value)};
}
inline Num fma(Num x, float y, Num z) { return fma(x, x.constant(y), z); }
inline Num fma(Num x, Num y, float z) { return fma(x, y, x.constant(z)); }
inline Num fma(Num x, float y, float z) {
  return fma(x, x.constant(y), x.constant(z));
}
inline Num select(Int condition, Num yes, Num no) {
  return {yes.b, mlir::arith::SelectOp::create(*yes.b, condition.value,
                                               yes.value, no.value)};
}
inline Num select(Int condition, Num yes, float no) {
  return select(condition, yes, yes.constant(no));
}
inline Num select(Int condition, float yes, Num no) {
  return select(condition, no.constant(yes), no);
}
/// The number that has these bits, or this value.
inline Num fromBits(Int bits) {
  return {bits.b, mlir::arith::BitcastOp::create(*bits.b, bits.b->getF32Type(),
                                                 bits.value)};
}
inline Num fromInt(Int integer) {
  return {integer.b, mlir::arith::SIToFPOp::create(
                         *integer.b, integer.b->getF32Type(), integer.value)};
}
/// c0 x^n + c1 x^(n-1) + ...
inline Num polynomial(Num x, std::initializer_list<float> coefficients) {
  auto next = coefficients.begin();
  Num sum = x.constant(*next++);
  for (; next != coefficients.end(); ++next)
    sum = fma(sum, x, *next);
  return sum;
}

} // namespace zc::floatmath

#endif // ZC_PASSES_CODEGEN_FLOATNUMBER_H
