//===- TopK.cpp - the largest elements of each row ------------------------===//
//
// One after the other: the extreme of what is left, and its first place. That
// is k passes over the rows, which suits routers and beams, not sorting.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Ops/ReduceSupport.h"
#include "passes/Import/Lowering/LoweringRegistry.h"
#include "passes/Import/Lowering/NodeContext.h"

using namespace mlir;
using namespace zc;

static constexpr int64_t kMostTaken = 64;

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
/// What is left of the rows, and what was taken of them.
struct Selection {
  Value left;      // taken elements are worse than all others
  Value remaining; // their places, behind the row for taken ones
  SmallVector<Value> values, places;
};
} // namespace

/// What is worse than all elements, or as bad.
static Value worstLike(TensorBuilder &build, Value x, bool largest) {
  auto type = cast<RankedTensorType>(x.getType());
  Attribute worst =
      train::reductionIdentity(largest ? "max" : "min", type.getElementType());
  return train::ConstantOp::create(build.builder, build.loc,
                                   DenseElementsAttr::get(type, worst));
}

static void takeNext(TensorBuilder &build, Value x, int64_t dim, bool largest,
                     Selection &selection) {
  ArrayRef<int64_t> shape = shapeOf(x);
  StringRef kind = largest ? "max" : "min";
  Value best = build.broadcast(
      build.reduce(kind, selection.left, dim, /*keepDims=*/true), shape);
  Value behind = build.splatLike(selection.remaining, shape[dim]);
  Value candidates = build.select(build.isExtreme(selection.left, best),
                                  selection.remaining, behind);
  Value place = build.reduce("min", candidates, dim, /*keepDims=*/true);
  Value taken =
      build.compare("eq", selection.remaining, build.broadcast(place, shape));
  // Of all elements the taken one alone: its gradient goes nowhere else.
  Value alone = build.select(taken, x, build.splatLike(x, 0));
  selection.values.push_back(build.reduce("sum", alone, dim, true));
  selection.places.push_back(place);
  selection.left =
      build.select(taken, worstLike(build, x, largest), selection.left);
  selection.remaining = build.select(taken, behind, selection.remaining);
}

static LogicalResult lowerTopK(NodeContext &context) {
  TensorBuilder &build = context.build;
  FailureOr<int64_t> k = readCount(context);
  Value x = context.operand(0);
  FailureOr<int64_t> dim =
      context.getAxis(context.node.getInt("axis", -1), rankOf(x));
  if (failed(k) || failed(dim))
    return failure();
  if (elementTypeOf(x).isUnsignedInteger())
    return context.emitError()
           << "orders a " << x.getType() << "; zc orders floats and signed "
           << "integers";
  if (*k < 1 || *k > std::min(kMostTaken, shapeOf(x)[*dim]))
    return context.emitError()
           << "takes the " << *k << " extremes of " << shapeOf(x)[*dim]
           << "; zc takes 1 to " << kMostTaken;
  bool largest = context.node.getInt("largest", 1) != 0;
  Selection selection{
      x, build.iota(shapeOf(x), *dim, build.builder.getI64Type()), {}, {}};
  for (int64_t i = 0; i < *k; ++i)
    takeNext(build, x, *dim, largest, selection);
  if (context.isUsed(1) &&
      failed(context.set(1, build.concat(selection.places, *dim))))
    return failure();
  return context.set(0, build.concat(selection.values, *dim));
}

void zc::registerTopK(LoweringRegistry &registry) {
  registry.add("TopK", 1, 28, lowerTopK);
}
