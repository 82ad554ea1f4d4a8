//===- Float8Rounding.cpp - how one tensor is rounded to 8 bits -----------===//
#include "passes/Precision/Float8Rounding.h"

#include "dialects/Train/Float8Ops.h"
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

Float8Rounder::Float8Rounder(OpBuilder &builder, Value value, FloatType type)
    : builder(builder), loc(value.getLoc()), value(value), type(type),
      largest(APFloat::getLargest(type.getFloatSemantics()).convertToDouble()) {
}

Value Float8Rounder::splatLike(Value like, double number) {
  return splat(builder, loc, like.getType(), number);
}

/// The largest magnitudes along one dim, which disappears.
static Value measureAlong(OpBuilder &builder, Value value, int64_t dim) {
  SmallVector<int64_t> shape(
      cast<RankedTensorType>(value.getType()).getShape());
  shape.erase(shape.begin() + dim);
  return AmaxOp::create(builder, value.getLoc(),
                        withShape(withComputeType(value.getType()), shape),
                        value, ArrayRef<int64_t>{dim});
}

// Rows are measured first: threads share them.
Value Float8Rounder::measure() {
  auto from = cast<RankedTensorType>(value.getType());
  int64_t last = from.getRank() - 1;
  Value rows = measureAlong(builder, value, last);
  if (last == 0)
    return rows;
  return AmaxOp::create(builder, loc, withShape(rows.getType(), {}), rows,
                        llvm::to_vector(llvm::seq<int64_t>(0, last)));
}

Value Float8Rounder::scaleOf(Value size) {
  constexpr double kLeast = 1e-12; // far below what matters
  size = MaxOp::create(builder, loc, size, splatLike(size, kLeast));
  return DivOp::create(builder, loc, splatLike(size, largest), size);
}

Value Float8Rounder::invert(Value scale) {
  return DivOp::create(builder, loc, splatLike(scale, 1), scale);
}

/// A product may be rounded up.
Value Float8Rounder::convertWithin(Value scaled) {
  scaled = MinOp::create(builder, loc, scaled, splatLike(scaled, largest));
  scaled = MaxOp::create(builder, loc, scaled, splatLike(scaled, -largest));
  return convert(builder, loc, scaled, type);
}

Value Float8Rounder::round(Value scale) {
  Value wide = widenStored(builder, loc, value);
  auto shape = cast<RankedTensorType>(wide.getType()).getShape();
  return convertWithin(MulOp::create(
      builder, loc, wide, broadcast(builder, loc, scale, shape, {})));
}

namespace {
/// A tensor's dims, of which each that has blocks is two: which block, and
/// where in it.
struct BlockDims {
  BlockDims(ArrayRef<int64_t> whole, ArrayRef<int64_t> blocks) {
    for (auto [size, block] : llvm::zip_equal(whole, blocks)) {
      kept.push_back(shape.size());
      shape.push_back(size / block);
      scales.push_back(size / block);
      if (block == 1)
        continue;
      inner.push_back(shape.size());
      shape.push_back(block);
    }
  }

  SmallVector<int64_t> shape, kept, inner, scales;
};
} // namespace

Rounded Float8Rounder::roundBlocks(ArrayRef<int64_t> blocks) {
  auto whole = cast<RankedTensorType>(value.getType()).getShape();
  const BlockDims dims(whole, blocks);
  Value parts = reshape(builder, loc, value, dims.shape);
  Value sizes = parts;
  for (int64_t dim : llvm::reverse(dims.inner))
    sizes = measureAlong(builder, sizes, dim);
  Value exact = scaleOf(sizes);
  Value scale = FloorPowerOp::create(builder, loc, exact.getType(), exact);
  Value spread = broadcast(builder, loc, scale, dims.shape, dims.kept);
  Value scaled =
      MulOp::create(builder, loc, widenStored(builder, loc, parts), spread);
  return {reshape(builder, loc, convertWithin(scaled), whole), invert(scale)};
}

} // namespace zc
