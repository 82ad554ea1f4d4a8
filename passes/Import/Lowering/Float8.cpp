//===- Float8.cpp - floats of eight and four bits -------------------------===//
#include "passes/Import/Lowering/Float8.h"

#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace mlir;
using namespace zc;
using llvm::APFloat;

std::optional<Float8> Float8::get(StringRef name) {
  const llvm::fltSemantics *semantics =
      llvm::StringSwitch<const llvm::fltSemantics *>(name)
          .Case("float8e4m3fn", &APFloat::Float8E4M3FN())
          .Case("float8e4m3fnuz", &APFloat::Float8E4M3FNUZ())
          .Case("float8e5m2", &APFloat::Float8E5M2())
          .Case("float8e5m2fnuz", &APFloat::Float8E5M2FNUZ())
          .Case("float8e8m0", &APFloat::Float8E8M0FNU())
          .Case("float4e2m1", &APFloat::Float4E2M1FN())
          .Default(nullptr);
  return semantics ? std::optional(Float8(*semantics)) : std::nullopt;
}

unsigned Float8::width() const { return APFloat::getSizeInBits(*semantics); }

// Every type has fewer digits than a double: nothing is lost.
double Float8::number(unsigned bits) const {
  return APFloat(*semantics, llvm::APInt(width(), bits)).convertToDouble();
}

double Float8::largest() const {
  return APFloat::getLargest(*semantics).convertToDouble();
}

bool Float8::holdsZero() const { return APFloat::semanticsHasZero(*semantics); }
int Float8::least() const { return APFloat::semanticsMinExponent(*semantics); }
int Float8::most() const { return APFloat::semanticsMaxExponent(*semantics); }
int Float8::digits() const {
  return int(APFloat::semanticsPrecision(*semantics)) - 1;
}

Value Float8::decode(TensorBuilder &build, Value bits) const {
  const unsigned count = 1u << width();
  SmallVector<double> numbers;
  for (unsigned each = 0; each < count; ++each)
    numbers.push_back(number(each));
  Type element = build.builder.getF32Type();
  Value table = build.floats(RankedTensorType::get({count}, element), numbers);
  SmallVector<int64_t> shape(shapeOf(bits));
  Value flat = build.reshape(build.convert(bits, build.builder.getI64Type()),
                             {ShapedType::getNumElements(shape)});
  return build.reshape(build.gather(table, flat, 0), shape);
}

// `value(k)` of the exponent k of each number, which is at least `least`.
template <typename Function>
static Value byExponent(TensorBuilder &build, Value size, int least, int most,
                        Function value) {
  Value result = build.splatLike(size, value(least));
  for (int k = least + 1; k <= most; ++k)
    result =
        build.select(build.compare(Predicate::Ge, size, std::ldexp(1.0, k)),
                     build.splatLike(size, value(k)), result);
  return result;
}

Value Float8::round(TensorBuilder &build, Value x, bool saturating) const {
  Value size = build.abs(x);
  // Neighbours are as far apart as the exponent says; a power of two divides
  // exactly.
  Value step = byExponent(build, size, least(), most(),
                          [&](int k) { return std::ldexp(1.0, k - digits()); });
  Value nearest =
      build.mul(build.unary<train::RoundOp>(build.div(size, step)), step);
  Value beyond = build.compare(Predicate::Gt, nearest, largest());
  const bool hasInfinity = APFloat::semanticsHasInf(*semantics);
  double other = saturating ? largest() : hasInfinity ? INFINITY : NAN;
  nearest = build.select(beyond, build.splatLike(x, other), nearest);
  return build.select(build.compare(Predicate::Lt, x, 0.0), build.neg(nearest),
                      nearest);
}

// Zeros too: the reciprocal of one is infinite.
static Value isNegative(TensorBuilder &build, Value x) {
  Value reciprocal = build.div(build.splatLike(x, 1), x);
  return build.select(build.compare(Predicate::Eq, x, 0.0),
                      build.compare(Predicate::Lt, reciprocal, 0.0),
                      build.compare(Predicate::Lt, x, 0.0));
}

Value Float8::encode(TensorBuilder &build, Value rounded, Value signs) const {
  Value size = build.abs(rounded);
  auto place = [&](int k) { return double(int64_t(k - least()) << digits()); };
  Value step = byExponent(build, size, least(), most(),
                          [&](int k) { return std::ldexp(1.0, k - digits()); });
  Value bits = build.add(byExponent(build, size, least(), most(), place),
                         build.div(size, step));
  auto special = [&](Value where, APFloat value) {
    double code = value.bitcastToAPInt().getZExtValue();
    bits = build.select(where, build.splatLike(bits, code), bits);
  };
  if (APFloat::semanticsHasInf(*semantics))
    special(build.compare(Predicate::Gt, size, largest()),
            APFloat::getInf(*semantics));
  // A zero has a sign where the type has two of them, and so has NaN.
  const bool hasNegativeZero =
      APFloat::getZero(*semantics, true).bitcastToAPInt() !=
      APFloat::getZero(*semantics, false).bitcastToAPInt();
  auto setNan = [&] {
    Value isNan = build.compare(Predicate::Ne, rounded, rounded);
    if (APFloat::semanticsHasNaN(*semantics))
      special(isNan, APFloat::getNaN(*semantics));
    else // ONNX gives minus zero
      special(isNan, APFloat::getZero(*semantics, /*Negative=*/true));
  };
  if (hasNegativeZero)
    setNan();
  Value negative = hasNegativeZero ? isNegative(build, signs)
                                   : build.compare(Predicate::Lt, rounded, 0.0);
  bits = build.select(negative, build.add(bits, std::ldexp(1.0, width() - 1)),
                      bits);
  if (!hasNegativeZero)
    setNan();
  return build.convert(bits, IntegerType::get(build.builder.getContext(), 8,
                                              IntegerType::Unsigned));
}
