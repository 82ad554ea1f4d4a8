//===- HiddenKeys.cpp - keys that count for queries that see none ---------===//
#include "passes/Sequence/HiddenKeys.h"

#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Sequence/MaskNumbers.h"
#include "passes/Sequence/TokenDims.h"

#include <limits>
#include <numeric>

using namespace mlir;
using namespace zc::train;

namespace zc::attention {

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

Value ofPass(Operation *attention, Value made) {
  dist::setPass(made.getDefiningOp(), isa<AttentionOp>(attention)
                                          ? dist::StepPass::Forward
                                          : dist::StepPass::Backward);
  return made;
}

Value gatherRanks(OpBuilder &builder, Operation *attention,
                  const TokenGroup &group, Value value) {
  Location loc = attention->getLoc();
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin(), 1);
  Value own = reshape(builder, loc, value, shape);
  shape.front() = group.ranks;
  return ofPass(attention, dist::AllGatherOp::create(
                               builder, loc, withShape(type, shape), own,
                               group.axes, 0, dist::kActivations));
}

bool HiddenKeys::areCounted() const {
  if (!getMask(op))
    return false;
  if (op->hasAttr("causal"))
    return !hidesAlike(op);
  const std::optional<MaskNumbers> numbers = findMaskNumbers(getMask(op));
  return hasMaskOfQueries(op) || !numbers || !numbers->findHidden();
}

Hidden HiddenKeys::find(Value mask, Value ownChunks) {
  if (op->hasAttr("causal"))
    return findCausal(mask, ownChunks);
  Largest own = findLargest(mask);
  if (hasMaskOfQueries(op))
    return {own};
  return {gatherChunks(own, Value())};
}

/// A chunk's queries see keys before them in it, and all of the chunks before.
Hidden HiddenKeys::findCausal(Value mask, Value ownChunks) {
  Value numbers = widen(builder, loc, mask);
  ArrayRef<int64_t> shape = shapeOf(numbers); // [batch, heads, 1, keys]
  SmallVector<int64_t> rows = {shape[0], shape[1], shape[kMaskKeys]};
  SmallVector<int64_t> byChunk(rows);
  byChunk[2] = shapeOf(ownChunks)[0];
  byChunk.push_back(rows[2] / byChunk[2]);
  Largest inChunk = scan(reshape(builder, loc, numbers, byChunk));
  Largest before =
      gatherChunks({last(inChunk.number), last(inChunk.count)}, ownChunks);
  Largest all = join(
      inChunk, {spread(before.number, byChunk), spread(before.count, byChunk)});
  Hidden hidden{{reshape(builder, loc, all.number, rows),
                 reshape(builder, loc, all.count, rows)}};
  Largest own = inChunk; // in zigzag order a chunk is behind the other
  if (byChunk[2] != 1)
    own = scan(reshape(builder, loc, numbers, rows));
  hidden.own = countEqual({reshape(builder, loc, own.number, rows),
                           reshape(builder, loc, own.count, rows)},
                          hidden.number);
  return hidden;
}

Value HiddenKeys::countIn(Value mask, const Largest &hidden) {
  Value numbers = widen(builder, loc, mask);
  if (shapeOf(mask)[2] != shapeOf(hidden.number)[2])
    return countEqual(findLargest(mask), hidden.number);
  Value found = equals(numbers, spread(hidden.number, shapeOf(numbers)));
  return reduceSum(builder, loc, countWhere(found, number(numbers, 1)),
                   {kMaskKeys});
}

/// The largest of a mask's keys [.., keys], with the keys' dim gone.
Largest HiddenKeys::findLargest(Value mask) {
  Value numbers = widen(builder, loc, mask);
  Largest largest{largestOf(numbers, {kMaskKeys})};
  Value found = equals(numbers, spread(largest.number, shapeOf(numbers)));
  largest.count = reduceSum(builder, loc, countWhere(found, number(numbers, 1)),
                            {kMaskKeys});
  return largest;
}

/// The largest of two parts' keys.
Largest HiddenKeys::join(const Largest &a, const Largest &b) {
  Value most = MaxOp::create(builder, loc, a.number, b.number);
  return {most, AddOp::create(builder, loc, countEqual(a, most),
                              countEqual(b, most))};
}

/// The largest of each element and those before it in the last dim.
Largest HiddenKeys::scan(Value numbers) {
  Largest all{numbers, number(numbers, 1)};
  for (int64_t by = 1; by < shapeOf(numbers).back(); by *= 2)
    all =
        join(all, {shift(all.number, by, -kInfinity), shift(all.count, by, 0)});
  return all;
}

/// The largest of the chunks [batch, heads, chunks] of all ranks that began
/// before each of the rank's own; no `ownChunks`: of all chunks.
Largest HiddenKeys::gatherChunks(const Largest &chunks, Value ownChunks) {
  SmallVector<int64_t> shape(shapeOf(chunks.number));
  shape.push_back(1);
  Value all =
      gatherRanks(builder, op, group,
                  concatLast(reshape(builder, loc, chunks.number, shape),
                             reshape(builder, loc, chunks.count, shape)));
  // [ranks, batch, heads, their chunks, own chunks]
  SmallVector<int64_t> pairs(shapeOf(all));
  pairs.back() = ownChunks ? shapeOf(ownChunks)[0] : 1;
  Value numbers = spread(cutLast(all, 0, 1), pairs);
  Value counts = spread(cutLast(all, 1, 1), pairs);
  if (ownChunks)
    numbers = SelectOp::create(builder, loc, numbers.getType(),
                               beganBefore(ownChunks, pairs), numbers,
                               number(numbers, -kInfinity));
  Value most = largestOf(numbers, {0, 3});
  Value mosts = broadcast(builder, loc, most, pairs, {1, 2, 4});
  return {most, reduceSum(builder, loc,
                          countWhere(equals(numbers, mosts), counts), {0, 3})};
}

/// Whether chunks of ranks (dims 0 and 3) stand before the rank's own (dim 4).
Value HiddenKeys::beganBefore(Value ownChunks, ArrayRef<int64_t> shape) {
  const int64_t ranks = shape[0], chunks = shape[3];
  SmallVector<int64_t> places;
  for (int64_t rank = 0; rank < ranks; ++rank)
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      places.push_back(chunk == 0 ? rank : 2 * ranks - 1 - rank);
  auto type = RankedTensorType::get({ranks, chunks}, builder.getI64Type());
  Value all = ConstantOp::create(
      builder, loc, type,
      DenseElementsAttr::get(type, ArrayRef<int64_t>(places)));
  return compare(builder, loc, Predicate::Lt,
                 broadcast(builder, loc, all, shape, {0, 3}),
                 broadcast(builder, loc, ownChunks, shape, {4}));
}

/// Each element as many places later in the last dim.
Value HiddenKeys::shift(Value value, int64_t by, double first) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> filled(type.getShape());
  filled.back() = by;
  return concatLast(splat(builder, loc, withShape(type, filled), first),
                    cutLast(value, 0, type.getShape().back() - by));
}

/// The last element of the last dim, which goes.
Value HiddenKeys::last(Value value) {
  ArrayRef<int64_t> shape = shapeOf(value);
  return reshape(builder, loc, cutLast(value, shape.back() - 1, 1),
                 shape.drop_back());
}

/// `size` elements of the last dim.
Value HiddenKeys::cutLast(Value value, int64_t begin, int64_t size) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape()), offsets(shape.size(), 0);
  shape.back() = size;
  offsets.back() = begin;
  return SliceOp::create(builder, loc, withShape(type, shape), value, offsets,
                         SmallVector<int64_t>(shape.size(), 1));
}

/// One behind the other in the last dim.
Value HiddenKeys::concatLast(Value a, Value b) {
  SmallVector<int64_t> shape(shapeOf(a));
  shape.back() += shapeOf(b).back();
  return ConcatOp::create(builder, loc, withShape(a.getType(), shape),
                          ValueRange{a, b}, int64_t(shape.size()) - 1);
}

Value HiddenKeys::countWhere(Value condition, Value counts) {
  return SelectOp::create(builder, loc, counts.getType(), condition, counts,
                          number(counts, 0));
}

/// How many of a part's keys have the number, as that.
Value HiddenKeys::countEqual(const Largest &part, Value number) {
  ArrayRef<int64_t> shape = shapeOf(number);
  return countWhere(equals(spread(part.number, shape), number),
                    spread(part.count, shape));
}

Value HiddenKeys::largestOf(Value value, ArrayRef<int64_t> dims) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape;
  for (int64_t dim : otherDims(type.getRank(), dims))
    shape.push_back(type.getDimSize(dim));
  return ReduceOp::create(builder, loc, withShape(type, shape), ReduceKind::Max,
                          value, dims);
}

Value HiddenKeys::equals(Value a, Value b) {
  return compare(builder, loc, Predicate::Eq, a, b);
}

Value HiddenKeys::number(Value like, double value) {
  return splat(builder, loc, like.getType(), value);
}

/// A value repeated along its dims of one element, and behind its last.
Value HiddenKeys::spread(Value value, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> dims(shapeOf(value).size());
  std::iota(dims.begin(), dims.end(), 0);
  return broadcast(builder, loc, value, shape, dims);
}

} // namespace zc::attention
