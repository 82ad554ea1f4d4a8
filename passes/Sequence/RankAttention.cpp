//===- RankAttention.cpp - a rank's keys and masks, and those of all ------===//
#include "passes/Sequence/RankAttention.h"

#include "passes/Sequence/MaskLevels.h"
#include "passes/Sequence/MaskNumbers.h"

namespace zc::attention {

Value PartAttention::gather(const RepeatedOperand &operand) {
  Value part = operand.getSource();
  SmallVector<int64_t> shape(shapeOf(part));
  Value all = gatherRanks(builder, op, group, part);
  if (!operand.isRepeated() && !isZigzag()) {
    shape[kTokens] *= group.ranks;
    all = transpose(builder, loc, all, {1, 0, 2, 3, 4});
    return reshape(builder, loc, all, shape);
  }
  SmallVector<Value> parts;
  for (int64_t rank = 0; rank < group.ranks; ++rank)
    parts.push_back(operand.repeat(
        builder, reshape(builder, loc, cut(all, 0, group.ranks, rank), shape)));
  return concat(isZigzag() ? inOrder(parts) : parts, kTokens);
}

Value PartAttention::reduceScatter(const RepeatedOperand &operand, Value grad) {
  if (!operand.isRepeated() && !isZigzag())
    return reduceScatter(grad, kTokens);
  SmallVector<Value> parts;
  for (int64_t rank = 0; rank < group.ranks; ++rank) {
    Value sum = operand.sum(builder, partOf(grad, rank));
    SmallVector<int64_t> row(shapeOf(sum));
    row.insert(row.begin(), 1);
    parts.push_back(reshape(builder, loc, sum, row));
  }
  Value own = reduceScatter(concat(parts, 0), 0);
  return operand.place(builder,
                       reshape(builder, loc, own, shapeOf(own).drop_front()));
}

Value PartAttention::reduceScatter(Value term, int64_t dim) {
  SmallVector<int64_t> shape(shapeOf(term));
  shape[dim] /= group.ranks;
  auto part = withShape(term.getType(), shape);
  auto sum = dist::ReduceScatterOp::create(builder, loc, part, term, group.axes,
                                           dim, dist::kActivations);
  Value local =
      sum.buildLocal(builder, term, part, group.ranks, group.coordinate);
  sum->erase();
  return local;
}

SmallVector<Value> PartAttention::inOrder(ArrayRef<Value> parts) {
  SmallVector<Value> chunks;
  for (Value part : parts)
    chunks.push_back(cut(part, kTokens, 2, 0));
  for (Value part : llvm::reverse(parts))
    chunks.push_back(cut(part, kTokens, 2, 1));
  return chunks;
}

Value PartAttention::maskOfAll(Value mask, bool causal) {
  if (!causal)
    return mask;
  const int64_t queries = shapeOf(op->getOperand(0))[kTokens];
  Value last = reshape(builder, loc, ownPlaces(queries), {1, 1, queries, 1});
  return mask ? addMasks(mask, hiddenBehind(last, mask)) : last;
}

Value PartAttention::cameFrom(int64_t turns) {
  Value own = group.coordinate();
  if (turns == 0)
    return own;
  // The ranks are a ring: before rank 0 comes the last.
  Value before = SubOp::create(builder, loc, own, number(own, double(turns)));
  Value around =
      AddOp::create(builder, loc, before, number(before, double(group.ranks)));
  return SelectOp::create(builder, loc, own.getType(), beganBefore(turns),
                          before, around);
}

Value PartAttention::columnsOf(Value mask, int64_t turns) {
  SmallVector<int64_t> shape(shapeOf(mask));
  const int64_t ranks = group.ranks;
  shape[kMaskKeys] /= ranks;
  SmallVector<int64_t> parts(shape);
  parts.insert(parts.begin() + kMaskKeys, ranks);
  Value byRank = reshape(builder, loc, mask, parts);
  parts[kMaskKeys] = 1;
  Value columns = ofPass(
      GatherOp::create(builder, loc, withShape(mask.getType(), parts), byRank,
                       reshape(builder, loc, cameFrom(turns), {1}),
                       builder.getI64IntegerAttr(kMaskKeys),
                       builder.getI64IntegerAttr(0), IntegerAttr()));
  return reshape(builder, loc, columns, shape);
}

Block PartAttention::whole(const Block &block, int64_t turns) {
  const bool cuts = block.mask && isOfQueries(block.mask);
  return {repeat(keys, block.key), repeat(values, block.value),
          cuts ? columnsOf(block.mask, turns) : block.mask};
}

/// The backward repeats for itself what it begins with, which the forward has
/// ended with: only the few are kept in between.
Value PartAttention::repeat(const RepeatedOperand &operand, Value part) {
  Value all = operand.repeat(builder, part);
  for (Value made = all; made != part;
       made = made.getDefiningOp()->getOperand(0))
    ofPass(made);
  return all;
}

Block PartAttention::half(const Block &block, bool second) {
  return {half(block.key, kTokens, second), half(block.value, kTokens, second),
          block.mask ? half(block.mask, kMaskKeys, second) : Value()};
}

Hidden PartAttention::findHidden(Value mask) {
  HiddenKeys keys(builder, op, group);
  if (!keys.areCounted())
    return {};
  return keys.find(mask, isCausal() ? ownPlaces(isZigzag() ? 2 : 1) : Value());
}

Value PartAttention::countHidden(Value mask, const Hidden &hidden, Value like,
                                 bool isOwn) {
  if (!hidden.number)
    return number(like, 1);
  Value count = isOwn && isCausal()
                    ? hidden.own
                    : HiddenKeys(builder, op, group).countIn(mask, hidden);
  return asSums(count, like);
}

Block PartAttention::level(const Block &block, const Hidden &queries,
                           bool isOwn, Value &less) {
  if (!isLevelledByBlock(op))
    return block;
  Block levelled = block;
  Value ofQueries = buildLevel(builder, loc, queries.number);
  if (isOwn) {
    levelled.mask = levelOwn(block.mask, ofQueries);
    return levelled;
  }
  Value numbers = widen(builder, loc, block.mask);
  Value largest = ReduceOp::create(
      builder, loc, withShape(numbers.getType(), shapeOf(numbers).drop_back()),
      train::ReduceKind::Max, numbers, ArrayRef<int64_t>{kMaskKeys});
  Value ofBlock = buildLevel(builder, loc, largest);
  levelled.mask = SubOp::create(builder, loc, block.mask,
                                asMask(ofBlock, block.mask.getType()));
  less = SubOp::create(
      builder, loc, ofQueries,
      broadcast(builder, loc, ofBlock, shapeOf(ofQueries), {0, 1, 2}));
  return levelled;
}

/// A key's number is not above 0, or itself, for the queries that see it: what
/// it is for others, which the causal mask hides, may not be large.
Value PartAttention::levelOwn(Value mask, Value ofQueries) {
  SmallVector<int64_t> shape(shapeOf(mask));
  shape[2] = shapeOf(ofQueries)[2];
  auto type = withShape(mask.getType(), shape);
  auto ofEach = [&](Value ofKeys) {
    return broadcast(builder, loc, ofKeys, shape, {0, 1, 2, 3});
  };
  Value less =
      SubOp::create(builder, loc, ofEach(mask), asMask(ofQueries, type));
  // A number for each key: were it one for each query too, all layers and both
  // passes would share it, and it would be kept in between.
  Value most = MaxOp::create(builder, loc, mask, number(mask, 0));
  return MinOp::create(builder, loc, less, ofEach(most));
}

Value PartAttention::asMask(Value ofQueries, Type type) {
  auto mask = cast<RankedTensorType>(type);
  return broadcast(builder, loc,
                   convert(builder, loc, ofQueries, mask.getElementType()),
                   mask.getShape(), {0, 1, 2});
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
  Value seen = compare(builder, loc, train::Predicate::Le,
                       broadcast(builder, loc, places, shape, {3}),
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
