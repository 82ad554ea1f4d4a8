//===- TopK.cpp - the largest elements of each row ------------------------===//
//
// A few are taken one after the other: the extreme of what is left, and its
// first place. That is k passes over the rows, which suits routers and beams.
// Many, or all, are put where their ranks say: a rank is how many elements come
// before, found by comparing all pairs of a row.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Ops/ReduceSupport.h"
#include "passes/Import/Lowering/LoweringRegistry.h"
#include "passes/Import/Lowering/NodeContext.h"
#include <limits>

using namespace mlir;
using namespace zc;

/// More than so many are ranked.
static constexpr int64_t kMostTaken = 64;
/// Longer rows would have too many pairs.
static constexpr int64_t kLongestRanked = 4096;

/// How many elements the node takes: an input, an attribute in version 1.
static FailureOr<int64_t> readCount(NodeContext &context) {
  if (!context.has(1))
    return context.node.getInt("k", 0);
  FailureOr<SmallVector<int64_t>> k = context.integers(1, "k");
  if (failed(k))
    return failure();
  return k->front();
}

namespace {
/// The rows without the elements taken so far, and these elements.
struct Selection {
  Value left;      // taken elements are worse than all others
  Value remaining; // their places, behind the row for taken ones
  SmallVector<Value> values, places;
};
} // namespace

/// A tensor like x whose elements are worse than any of x, or as bad.
static Value worstLike(TensorBuilder &build, Value x, bool largest) {
  auto type = cast<RankedTensorType>(x.getType());
  Attribute worst = train::reductionIdentity(
      largest ? ReduceKind::Max : ReduceKind::Min, type.getElementType());
  return train::ConstantOp::create(build.builder, build.loc,
                                   DenseElementsAttr::get(type, worst));
}

static void takeNext(TensorBuilder &build, Value x, int64_t dim, bool largest,
                     Selection &selection) {
  ArrayRef<int64_t> shape = shapeOf(x);
  const ReduceKind kind = largest ? ReduceKind::Max : ReduceKind::Min;
  Value best = build.broadcast(
      build.reduce(kind, selection.left, dim, /*keepDims=*/true), shape);
  Value behind = build.splatLike(selection.remaining, shape[dim]);
  Value candidates = build.select(build.isExtreme(selection.left, best),
                                  selection.remaining, behind);
  Value place =
      build.reduce(ReduceKind::Min, candidates, dim, /*keepDims=*/true);
  Value taken = build.compare(Predicate::Eq, selection.remaining,
                              build.broadcast(place, shape));
  // The sum selects the taken element alone, so that its gradient goes nowhere
  // else.
  Value alone = build.select(taken, x, build.splatLike(x, 0));
  selection.values.push_back(build.reduce(ReduceKind::Sum, alone, dim, true));
  selection.places.push_back(place);
  selection.left =
      build.select(taken, worstLike(build, x, largest), selection.left);
  selection.remaining = build.select(taken, behind, selection.remaining);
}

namespace {
/// Tensors [..., first, second, ...] of all pairs of an element of one row
/// along `dim` and an element of another, which has the size that `rows` says.
struct Pairs {
  Pairs(ArrayRef<int64_t> rows, int64_t dim, int64_t size)
      : shape(rows), first(dim), second(dim + 1) {
    shape.insert(shape.begin() + dim, size);
    for (int64_t each = 0; each < static_cast<int64_t>(rows.size()); ++each) {
      ofFirst.push_back(each <= dim ? each : each + 1);
      ofSecond.push_back(each < dim ? each : each + 1);
    }
  }
  SmallVector<int64_t> shape, ofFirst, ofSecond;
  int64_t first, second;
};
} // namespace

/// How many elements of its row come before each: better ones, or equal ones
/// with smaller places. NaN comes before all others.
static Value rankRows(TensorBuilder &build, Value x, int64_t dim,
                      bool largest) {
  Type integer = build.builder.getI32Type();
  const Pairs pairs(shapeOf(x), dim, shapeOf(x)[dim]);
  auto counted = [&](Value condition) {
    return build.convert(condition, integer);
  };
  Value own = build.broadcast(x, pairs.shape, pairs.ofFirst);
  Value other = build.broadcast(x, pairs.shape, pairs.ofSecond);
  Value isEarlier = counted(build.compare(
      Predicate::Lt, build.iota(pairs.shape, pairs.second, integer),
      build.iota(pairs.shape, pairs.first, integer)));
  Value before =
      build.select(build.compare(Predicate::Eq, other, own), isEarlier,
                   counted(build.compare(
                       largest ? Predicate::Gt : Predicate::Lt, other, own)));
  if (isFloat(x)) {
    Value none = build.splatLike(before, 0), one = build.splatLike(before, 1);
    Value isOwn = build.compare(Predicate::Ne, own, own);
    Value isOther = build.compare(Predicate::Ne, other, other);
    before = build.select(isOwn, build.select(isOther, isEarlier, none),
                          build.select(isOther, one, before));
  }
  return build.reduce(ReduceKind::Sum, before, pairs.second);
}

/// Values and places of the first `k` elements by their ranks.
static std::pair<Value, Value> takeRanked(TensorBuilder &build, Value x,
                                          int64_t dim, bool largest,
                                          int64_t k) {
  Type integer = build.builder.getI32Type();
  Value ranks = rankRows(build, x, dim, largest);
  const Pairs pairs(shapeOf(x), dim, k);
  Value isThere = build.compare(
      Predicate::Eq, build.broadcast(ranks, pairs.shape, pairs.ofSecond),
      build.iota(pairs.shape, pairs.first, integer));
  auto take = [&](Value each) {
    return build.reduce(ReduceKind::Sum,
                        build.select(isThere, each, build.splatLike(each, 0)),
                        pairs.second);
  };
  Value places = take(build.iota(pairs.shape, pairs.second, integer));
  return {take(build.broadcast(x, pairs.shape, pairs.ofSecond)),
          build.convert(places, build.builder.getI64Type())};
}

// Unsigned integers as signed ones of the same order; the same function leads
// back. Those of 64 bits wrap around.
static Value shiftUnsigned(TensorBuilder &build, Value x, Type element) {
  const bool isBack = !elementTypeOf(x).isUnsignedInteger();
  const bool wraps = (isBack ? element : elementTypeOf(x)).isInteger(64);
  const double least = std::numeric_limits<int64_t>::min();
  if (isBack)
    return build.convert(wraps ? build.add(x, least) : x, element);
  x = build.convert(x, build.builder.getI64Type());
  return wraps ? build.add(x, least) : x;
}

static LogicalResult lowerTopK(NodeContext &context) {
  TensorBuilder &build = context.build;
  FailureOr<int64_t> k = readCount(context);
  Value x = context.operand(0);
  FailureOr<int64_t> dim =
      context.getAxis(context.node.getInt("axis", -1), rankOf(x));
  if (failed(k) || failed(dim))
    return failure();
  const Type element = elementTypeOf(x);
  const bool isUnsigned = element.isUnsignedInteger();
  if (isUnsigned)
    x = shiftUnsigned(build, x, element);
  const int64_t size = shapeOf(x)[*dim];
  const bool isRanked = *k > kMostTaken;
  if (*k < 1 || *k > size || (isRanked && size > kLongestRanked))
    return context.emitError() << "takes the " << *k << " extremes of " << size
                               << "; zc takes 1 to " << kMostTaken
                               << ", or any number of up to " << kLongestRanked;
  bool largest = context.node.getInt("largest", 1) != 0;
  auto giveValues = [&](Value values) {
    return context.set(0, isUnsigned ? shiftUnsigned(build, values, element)
                                     : values);
  };
  if (isRanked) {
    auto [values, places] = takeRanked(build, x, *dim, largest, *k);
    if (context.isUsed(1) && failed(context.set(1, places)))
      return failure();
    return giveValues(values);
  }
  Selection selection{
      x, build.iota(shapeOf(x), *dim, build.builder.getI64Type()), {}, {}};
  for (int64_t i = 0; i < *k; ++i)
    takeNext(build, x, *dim, largest, selection);
  if (context.isUsed(1) &&
      failed(context.set(1, build.concat(selection.places, *dim))))
    return failure();
  return giveValues(build.concat(selection.values, *dim));
}

void zc::registerTopK(LoweringRegistry &registry) {
  registry.add("TopK", 1, 28, lowerTopK);
}
