//===- LowPrecision.cpp - saved activations in 16 or 8 bits ---------------===//
//
// Gist's delayed reduction of precision: the forward computes with all digits,
// only the backward reads fewer.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Memory/KeptEncoder.h"
#include "passes/Memory/RoundedReads.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
namespace {

/// A type of fewer bits; magnitudes beyond `largest` become that, in place of
/// infinity, and NaN stays.
struct Format {
  Type (*type)(MLIRContext *context);
  std::optional<double> largest; // none: float32's
  std::optional<double> least;   // in place of 0; none: 0
};

template <typename T> Type typeIn(MLIRContext *context) {
  return T::get(context);
}

constexpr Format kBFloat16 = {typeIn<BFloat16Type>, std::nullopt, std::nullopt};
constexpr Format kFloat16 = {typeIn<Float16Type>, 65504, std::nullopt};
// As Gist's 8 bits: 4 of them are the exponent's, 3 the mantissa's. No number
// becomes 0, for a ReLU's gradient passes where its result is above 0.
constexpr Format kFloat8 = {typeIn<Float8E4M3FNType>, 448, 0x1p-9};

class LowPrecision : public KeptEncoder {
public:
  explicit LowPrecision(Format format) : format(format) {}

  bool accepts(const KeptValue &kept) const override {
    return kept.getType().getElementType().isF32();
  }

  bool isElementwise() const override { return true; }

  SmallVector<Value> encode(OpBuilder &builder, Location loc,
                            Value value) const override {
    value = train::convert(builder, loc, value, builder.getF32Type());
    if (format.least)
      value = keepSign(builder, loc, value);
    if (format.largest)
      value = saturate(builder, loc, value);
    return {
        train::convert(builder, loc, value, format.type(builder.getContext()))};
  }

  Value decode(OpBuilder &builder, Location loc, ValueRange encoded,
               RankedTensorType type) const override {
    Value value =
        train::convert(builder, loc, encoded[0], builder.getF32Type());
    return train::convert(builder, loc, value, type.getElementType());
  }

private:
  Value saturate(OpBuilder &builder, Location loc, Value value) const {
    Value upper = splat(builder, loc, value.getType(), *format.largest);
    Value lower = splat(builder, loc, value.getType(), -*format.largest);
    value = MinOp::create(builder, loc, value, upper);
    return MaxOp::create(builder, loc, value, lower);
  }

  /// The value, but with the least magnitude that is not 0 in place of a
  /// smaller one; 0 and NaN stay.
  Value keepSign(OpBuilder &builder, Location loc, Value value) const {
    Value zero = splat(builder, loc, value.getType(), 0);
    Value least = splat(builder, loc, value.getType(), *format.least);
    Value below = splat(builder, loc, value.getType(), -*format.least);
    Value isMore = compare(builder, loc, Predicate::Gt, value, zero);
    Value isLess = compare(builder, loc, Predicate::Gt, zero, value);
    Value more = MaxOp::create(builder, loc, value, least);
    Value less = MinOp::create(builder, loc, value, below);
    Value other = SelectOp::create(builder, loc, isLess, less, value);
    return SelectOp::create(builder, loc, isMore, more, other);
  }

  Format format;
};

/// Keeps factors and terms in 8 bits, also those that have 16 already.
class Float8 : public LowPrecision {
public:
  Float8() : LowPrecision(kFloat8) {}

  void prepare(func::FuncOp program) override { reads.emplace(program); }

  bool accepts(const KeptValue &kept) const override {
    Type element = kept.getType().getElementType();
    return (element.isF32() || element.isF16() || element.isBF16()) &&
           reads->areBorne(kept.backward);
  }

private:
  std::optional<RoundedReads> reads; // of the program that was prepared
};

} // namespace

std::unique_ptr<KeptEncoder> createBfloat16Encoder() {
  return std::make_unique<LowPrecision>(kBFloat16);
}

std::unique_ptr<KeptEncoder> createFloat16Encoder() {
  return std::make_unique<LowPrecision>(kFloat16);
}

std::unique_ptr<KeptEncoder> createFloat8Encoder() {
  return std::make_unique<Float8>();
}

} // namespace zc
