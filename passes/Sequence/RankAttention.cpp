//===- RankAttention.cpp - masks of a rank's queries and all keys ---------===//
#include "passes/Sequence/RankAttention.h"

namespace zc::attention {

Value PartAttention::maskOfAll(Value mask, bool causal) {
  if (!causal)
    return mask;
  const int64_t queries = shapeOf(op->getOperand(0))[kTokens];
  Value last = reshape(builder, loc, ownPlaces(queries), {1, 1, queries, 1});
  return mask ? addMasks(mask, hiddenBehind(last, mask)) : last;
}

Value PartAttention::ownPlaces(int64_t tokens) {
  Value own = group.coordinate();
  if (!isZigzag())
    return count(own, tokens);
  Value mirrored = SubOp::create(builder, loc,
                                 number(own, double(2 * group.ranks - 1)), own);
  return concat({count(own, tokens / 2), count(mirrored, tokens / 2)}, 0);
}

Value PartAttention::count(Value chunk, int64_t size) {
  Value first = MulOp::create(builder, loc, chunk, number(chunk, double(size)));
  Value places = IotaOp::create(
      builder, loc, RankedTensorType::get({size}, builder.getI64Type()), 1);
  return AddOp::create(builder, loc, places,
                       broadcast(builder, loc, first, {size}, {}));
}

Value PartAttention::hiddenBehind(Value last, Value mask) {
  const int64_t keys = shapeOf(mask)[3];
  SmallVector<int64_t> shape(shapeOf(last));
  shape[3] = keys;
  Value places = IotaOp::create(
      builder, loc, RankedTensorType::get({keys}, builder.getI64Type()), 1);
  Value seen =
      compare(builder, loc, "le", broadcast(builder, loc, places, shape, {3}),
              broadcast(builder, loc, last, shape, {0, 1, 2, 3}));
  auto type = withShape(mask.getType(), shape);
  return SelectOp::create(builder, loc, type, seen,
                          splat(builder, loc, type, 0),
                          splat(builder, loc, type, -kInfinity));
}

Value PartAttention::addMasks(Value a, Value b) {
  SmallVector<int64_t> shape(shapeOf(a));
  for (auto [size, other] : llvm::zip(shape, shapeOf(b)))
    size = std::max(size, other);
  return AddOp::create(builder, loc,
                       broadcast(builder, loc, a, shape, {0, 1, 2, 3}),
                       broadcast(builder, loc, b, shape, {0, 1, 2, 3}));
}

} // namespace zc::attention
