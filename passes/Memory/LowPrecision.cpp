//===- LowPrecision.cpp - saved activations in 16 bits --------------------===//
//
// Gist's delayed reduction of precision: the forward computes with all digits,
// only the backward reads fewer.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Memory/KeptEncoder.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
namespace {

class LowPrecision : public KeptEncoder {
public:
  enum Format { BFloat16, Float16 };

  explicit LowPrecision(Format format) : format(format) {}

  bool accepts(const KeptValue &kept) const override {
    return kept.getType().getElementType().isF32();
  }

  bool isElementwise() const override { return true; }

  SmallVector<Value> encode(OpBuilder &builder, Location loc,
                            Value value) const override {
    if (format == BFloat16)
      return {train::convert(builder, loc, value, builder.getBF16Type())};
    return {train::convert(builder, loc, saturate(builder, loc, value),
                           builder.getF16Type())};
  }

  Value decode(OpBuilder &builder, Location loc, ValueRange encoded,
               RankedTensorType type) const override {
    return train::convert(builder, loc, encoded[0], type.getElementType());
  }

private:
  /// Clamps to fp16's largest number, in place of infinity; NaN stays.
  static Value saturate(OpBuilder &builder, Location loc, Value value) {
    constexpr double kLargest = 65504;
    Value upper = splat(builder, loc, value.getType(), kLargest);
    Value lower = splat(builder, loc, value.getType(), -kLargest);
    value = MinOp::create(builder, loc, value, upper);
    return MaxOp::create(builder, loc, value, lower);
  }

  Format format;
};

} // namespace

std::unique_ptr<KeptEncoder> createBfloat16Encoder() {
  return std::make_unique<LowPrecision>(LowPrecision::BFloat16);
}

std::unique_ptr<KeptEncoder> createFloat16Encoder() {
  return std::make_unique<LowPrecision>(LowPrecision::Float16);
}

} // namespace zc
