//===- Reduction.cpp - Reduce*, ArgMax, ArgMin, CumSum --------------------===//
#include "passes/Import/Lowering/LoweringRegistry.h"
#include "passes/Import/Lowering/NodeContext.h"

using namespace mlir;
using namespace zc;

// --- Reduce* ---------------------------------------------------------------

// The dims to reduce. Axes moved from attribute to operand in opset 13
// (ReduceSum) and 18 (the others), with the attribute noop_with_empty_axes.
static FailureOr<SmallVector<int64_t>> reducedDims(NodeContext &context) {
  int64_t rank = rankOf(context.operand(0));
  auto axes = context.integersOrAttribute(1, "axes");
  if (failed(axes))
    return failure();
  if (*axes && !(*axes)->empty())
    return context.getAxes(**axes, rank);
  if (context.node.getInt("noop_with_empty_axes", 0) != 0)
    return SmallVector<int64_t>();
  return llvm::to_vector(llvm::seq<int64_t>(0, rank));
}

using Reduce = Value (*)(TensorBuilder &, Value, ArrayRef<int64_t>);

template <Reduce reduce> static LogicalResult lower(NodeContext &context) {
  FailureOr<SmallVector<int64_t>> dims = reducedDims(context);
  if (failed(dims))
    return failure();
  Value result = reduce(context.build, context.operand(0), *dims);
  return context.set(context.build.reshape(result, context.resultShape()));
}

static Value sum(TensorBuilder &build, Value x, ArrayRef<int64_t> dims) {
  return build.reduce(ReduceKind::Sum, x, dims);
}

// Reshaped before it is divided, as a sum and a division of their own are.
static LogicalResult lowerMean(NodeContext &context) {
  FailureOr<SmallVector<int64_t>> dims = reducedDims(context);
  if (failed(dims))
    return failure();
  Value x = context.operand(0);
  int64_t count = 1;
  for (int64_t dim : *dims)
    count *= shapeOf(x)[dim];
  Value total = sum(context.build, x, *dims);
  return context.set(
      context.build.div(context.build.reshape(total, context.resultShape()),
                        static_cast<double>(count)));
}

// Halves are multiplied until one element is left. The gradient follows from
// that of the multiplications, zeros or not.
static Value multiplyAlong(TensorBuilder &build, Value x, int64_t dim) {
  if (shapeOf(x)[dim] == 0)
    return build.reduce(ReduceKind::Prod, x, {dim}, true);
  Value odd;
  while (shapeOf(x)[dim] > 1) {
    int64_t size = shapeOf(x)[dim], half = size / 2;
    if (size % 2 != 0) {
      Value last = build.slice(x, dim, size - 1, 1);
      odd = odd ? build.mul(odd, last) : last;
    }
    x = build.mul(build.slice(x, dim, 0, half),
                  build.slice(x, dim, half, half));
  }
  return odd ? build.mul(x, odd) : x;
}

static Value prod(TensorBuilder &build, Value x, ArrayRef<int64_t> dims) {
  for (int64_t dim : dims)
    x = multiplyAlong(build, x, dim);
  return x;
}

// The largest, or smallest, element; bools too, where true is the larger.
template <bool largest>
static Value extreme(TensorBuilder &build, Value x, ArrayRef<int64_t> dims) {
  const ReduceKind kind = largest ? ReduceKind::Max : ReduceKind::Min;
  Type element = elementTypeOf(x);
  if (!element.isInteger(1))
    return build.reduce(kind, x, dims);
  Value bytes = build.convert(x, build.builder.getI8Type());
  return build.convert(build.reduce(kind, bytes, dims), element);
}

static Value norm1(TensorBuilder &build, Value x, ArrayRef<int64_t> dims) {
  return build.reduce(ReduceKind::Sum, build.abs(x), dims);
}

static Value sumSquare(TensorBuilder &build, Value x, ArrayRef<int64_t> dims) {
  return build.reduce(ReduceKind::Sum, build.mul(x, x), dims);
}

static Value norm2(TensorBuilder &build, Value x, ArrayRef<int64_t> dims) {
  Value squares = sumSquare(build, x, dims);
  if (isFloat(x)) {
    // The norm of zeros has the gradient 0, as in PyTorch, not infinity times
    // 0.
    Value none = build.compare(Predicate::Eq, squares, 0.0);
    Value safe = build.select(none, build.splatLike(squares, 1), squares);
    return build.select(none, build.splatLike(squares, 0),
                        build.unary<train::SqrtOp>(safe));
  }
  Value wide = build.convert(squares, build.builder.getF64Type());
  return build.convert(build.unary<train::SqrtOp>(wide), elementTypeOf(x));
}

static Value logSum(TensorBuilder &build, Value x, ArrayRef<int64_t> dims) {
  Value total = build.reduce(ReduceKind::Sum, x, dims);
  if (isFloat(x))
    return build.unary<train::LogOp>(total);
  Value wide = build.convert(total, build.builder.getF64Type());
  return build.convert(build.unary<train::LogOp>(wide), elementTypeOf(x));
}

// max + log sum e^(x - max); where the maximum is infinite, it is the result,
// and infinity minus itself must not come near it.
static Value logSumExp(TensorBuilder &build, Value x, ArrayRef<int64_t> dims) {
  Type element = elementTypeOf(x);
  if (!isFloat(x))
    x = build.convert(x, build.builder.getF64Type());
  Value top = build.reduce(ReduceKind::Max, x, dims, true);
  Value infinite = build.compare(Predicate::Eq, build.abs(top),
                                 std::numeric_limits<double>::infinity());
  Value shift = build.select(infinite, build.splatLike(top, 0), top);
  Value powers = build.unary<train::ExpOp>(
      build.sub(x, build.broadcast(shift, shapeOf(x))));
  Value logs = build.unary<train::LogOp>(
      build.reduce(ReduceKind::Sum, powers, dims, true));
  return build.convert(build.add(logs, shift), element);
}

// --- ArgMax, ArgMin --------------------------------------------------------

static LoweringFunction argument(ReduceKind kind) {
  return [kind](NodeContext &context) -> LogicalResult {
    TensorBuilder &build = context.build;
    Value x = context.operand(0);
    FailureOr<int64_t> dim =
        context.getAxis(context.node.getInt("axis", 0), rankOf(x));
    if (failed(dim))
      return failure();
    bool last = context.node.getInt("select_last_index", 0) != 0;
    Value best = build.broadcast(build.reduce(kind, x, *dim, true), shapeOf(x));
    Value position = build.iota(shapeOf(x), *dim, build.builder.getI64Type());
    // No position is before -1 or behind the size.
    Value none = build.splatLike(position, last ? -1 : shapeOf(x)[*dim]);
    Value candidate = build.select(build.isExtreme(x, best), position, none);
    Value result =
        build.reduce(last ? ReduceKind::Max : ReduceKind::Min, candidate, *dim);
    return context.set(build.reshape(result, context.resultShape()));
  };
}

// --- CumSum ----------------------------------------------------------------

// Sums over 1, 2, 4, ... elements: each round adds what stands `step` before.
static Value cumulativeSum(TensorBuilder &build, Value x, int64_t dim,
                           bool exclusive, bool reverse) {
  auto shift = [&](Value value, int64_t step) {
    SmallVector<int64_t> low(rankOf(x), 0), high(rankOf(x), 0);
    low[dim] = reverse ? -step : step;
    high[dim] = -low[dim];
    return build.pad(value, low, high);
  };
  if (exclusive)
    x = shift(x, 1);
  for (int64_t step = 1; step < shapeOf(x)[dim]; step *= 2)
    x = build.add(x, shift(x, step));
  return x;
}

static FailureOr<int64_t> readCumulativeDim(NodeContext &context) {
  FailureOr<double> axis = context.number(1, "axis");
  if (failed(axis))
    return failure();
  return context.getAxis(static_cast<int64_t>(*axis),
                         rankOf(context.operand(0)));
}

// The elements `step` places before, ones where there are none.
static Value moveOn(TensorBuilder &build, Value value, int64_t dim,
                    int64_t step) {
  int64_t size = shapeOf(value)[dim];
  Value ones = build.splatLike(build.slice(value, dim, 0, step), 1);
  if (step == size)
    return ones;
  return build.concat({ones, build.slice(value, dim, 0, size - step)}, dim);
}

// Doubling: products of 1, 2, 4, ... elements up to each place.
static LogicalResult lowerCumProd(NodeContext &context) {
  TensorBuilder &build = context.build;
  FailureOr<int64_t> dim = readCumulativeDim(context);
  if (failed(dim))
    return failure();
  Value x = context.operand(0);
  int64_t size = shapeOf(x)[*dim];
  auto backwards = llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, size)));
  bool isReverse = context.node.getInt("reverse", 0) != 0;
  if (isReverse)
    x = build.take(x, backwards, *dim);
  if (context.node.getInt("exclusive", 0) != 0)
    x = moveOn(build, x, *dim, 1);
  for (int64_t step = 1; step < size; step *= 2)
    x = build.mul(x, moveOn(build, x, *dim, step));
  return context.set(isReverse ? build.take(x, backwards, *dim) : x);
}

static LogicalResult lowerCumSum(NodeContext &context) {
  FailureOr<int64_t> dim = readCumulativeDim(context);
  if (failed(dim))
    return failure();
  Value x = context.operand(0);
  return context.set(cumulativeSum(context.build, x, *dim,
                                   context.node.getInt("exclusive", 0) != 0,
                                   context.node.getInt("reverse", 0) != 0));
}

void zc::registerReduction(LoweringRegistry &registry) {
  registry.add("ReduceSum", 1, 13, lower<sum>);
  registry.add("ReduceMean", 1, 18, lowerMean);
  registry.add("ReduceProd", 1, 18, lower<prod>);
  registry.add("ReduceMax", 1, 20, lower<extreme<true>>);
  registry.add("ReduceMin", 1, 20, lower<extreme<false>>);
  registry.add("ReduceL1", 1, 18, lower<norm1>);
  registry.add("ReduceL2", 1, 18, lower<norm2>);
  registry.add("ReduceSumSquare", 1, 18, lower<sumSquare>);
  registry.add("ReduceLogSum", 1, 28, lower<logSum>);
  registry.add("ReduceLogSumExp", 1, 28, lower<logSumExp>);
  registry.add("ArgMax", 1, 13, argument(ReduceKind::Max));
  registry.add("ArgMin", 1, 13, argument(ReduceKind::Min));
  registry.add("CumProd", 26, 26, lowerCumProd);
  registry.add("CumSum", 11, 14, lowerCumSum);
}
