//===- Pooling.cpp - MaxPool, AveragePool, LpPool and the global ones -----===//
#include "passes/Import/Lowering/Indexing.h"
#include "passes/Import/Lowering/LoweringRegistry.h"
#include "passes/Import/Lowering/Windows.h"

using namespace mlir;
using namespace zc;

static FailureOr<Windows> windowsOf(NodeContext &context) {
  ArrayRef<int64_t> input = shapeOf(context.operand(0));
  if (context.resultShape().size() != input.size()) {
    context.emitError() << "expected a result of " << input.size()
                        << " dims, found " << context.resultType();
    return failure();
  }
  return readWindows(context, input);
}

static FailureOr<Windows> poolWindows(NodeContext &context) {
  if (failed(context.requireFloat(0)))
    return failure();
  return windowsOf(context);
}

// --- MaxPool ---------------------------------------------------------------

namespace {
/// Finds where in the flat input each window's largest element is; of equal
/// ones it is the first.
class PlaceFinder {
public:
  PlaceFinder(NodeContext &context, const Windows &windows, Value image,
              Value largest)
      : context(context), build(context.build), windows(windows),
        input(shapeOf(image)), largest(largest), padded(padInput(image)) {}

  /// From a window's last element to its first, whoever equals the largest one
  /// names its place.
  Value run() {
    auto type =
        RankedTensorType::get(shapeOf(largest), build.builder.getI64Type());
    Value places = build.splat(type, 0);
    int64_t count = ShapedType::getNumElements(windows.kernel);
    for (int64_t at = count - 1; at >= 0; --at)
      places = visit(at, places);
    return places;
  }

private:
  Value padInput(Value image) {
    SmallVector<int64_t> low(2, 0), high(2, 0);
    llvm::append_range(low, windows.low);
    llvm::append_range(high, windows.high);
    return build.pad(image, low, high);
  }

  /// How many elements of the flat input a step along `dim` is: with a
  /// storage_order of 1 the first spatial dim is the innermost.
  int64_t strideOf(int64_t dim) {
    bool columns = dim > 1 && context.node.getInt("storage_order", 0) != 0;
    return ShapedType::getNumElements(columns ? input.slice(2, dim - 2)
                                              : input.drop_front(dim + 1));
  }

  Value visit(int64_t element, Value places);

  NodeContext &context;
  TensorBuilder &build;
  const Windows &windows;
  ArrayRef<int64_t> input;
  Value largest, padded;
};

Value PlaceFinder::visit(int64_t element, Value places) {
  ArrayRef<int64_t> shape = shapeOf(largest);
  Value at = build.splatLike(places, 0), candidates = padded;
  for (int64_t dim : {0, 1})
    at = addPositions(build, at, shape, dim, strideOf(dim));
  SmallVector<Value> insides;
  for (int64_t spatial = windows.rank() - 1; spatial >= 0; --spatial) {
    int64_t dim = spatial + 2, kernel = windows.kernel[spatial];
    int64_t offset = element % kernel * windows.dilations[spatial];
    int64_t stride = windows.strides[spatial];
    element /= kernel;
    candidates = build.slice(candidates, dim, offset, shape[dim], stride);
    SmallVector<int64_t> steps, isInside;
    for (int64_t window = 0; window < shape[dim]; ++window) {
      int64_t index = window * stride + offset - windows.low[spatial];
      steps.push_back(index * strideOf(dim));
      isInside.push_back(index >= 0 && index < input[dim]);
    }
    at = build.add(at, build.broadcast(build.integers(steps), shape, dim));
    if (llvm::is_contained(isInside, 0)) // no padding wins
      insides.push_back(build.broadcast(build.integers(isInside), shape, dim));
  }
  Value wins = build.compare(Predicate::Eq, candidates, largest);
  for (Value inside : insides)
    wins = train::AndOp::create(build.builder, build.loc, wins.getType(), wins,
                                build.compare(Predicate::Gt, inside, 0.0));
  return build.select(wins, at, places);
}
} // namespace

// The image without what no window reaches: where `windows` has negative pads,
// which become 0.
static Value cropToReach(TensorBuilder &build, Value image, Windows &windows) {
  for (unsigned dim = 0; dim < windows.rank(); ++dim)
    if (windows.high[dim] < 0) {
      image = build.slice(image, dim + 2, 0,
                          shapeOf(image)[dim + 2] + windows.high[dim]);
      windows.high[dim] = 0;
    }
  return image;
}

static LogicalResult lowerMaxPool(NodeContext &context) {
  TensorBuilder &build = context.build;
  Value image = context.operand(0);
  Type element = elementTypeOf(image);
  // Images of quantised models: float32 holds each of their numbers.
  if (element.isInteger(8))
    image = build.convert(image, build.builder.getF32Type());
  else if (failed(context.requireFloat(0)))
    return failure();
  FailureOr<Windows> windows = windowsOf(context);
  if (failed(windows))
    return failure();
  fitToResult(*windows, shapeOf(image), context.resultShape());
  Windows fitted = *windows;
  Value input = cropToReach(build, image, *windows);
  Value largest = train::MaxPoolOp::create(
      build.builder, build.loc,
      RankedTensorType::get(context.resultShape(), elementTypeOf(image)), input,
      windows->kernel, windows->strides, windows->dilations, windows->low,
      windows->high, /*channels_last=*/false);
  if (context.isUsed(1) &&
      failed(
          context.set(1, PlaceFinder(context, fitted, image, largest).run())))
    return failure();
  return context.set(build.convert(largest, element));
}

// --- Sums over windows -----------------------------------------------------

// Windows that tile the input: two dims for one, the inner one reduced.
static Value sumTiles(TensorBuilder &build, Value x, int64_t dim,
                      int64_t size) {
  SmallVector<int64_t> shape(shapeOf(x));
  shape[dim] /= size;
  shape.insert(shape.begin() + dim + 1, size);
  return build.reduce(ReduceKind::Sum, build.reshape(x, shape), dim + 1);
}

// Otherwise the sum of a window's first elements, second elements, ...: slices.
static Value sumSlices(TensorBuilder &build, Value x, const Windows &windows,
                       unsigned spatial, int64_t count) {
  int64_t dim = spatial + 2;
  SmallVector<int64_t> low(rankOf(x), 0), high(rankOf(x), 0);
  low[dim] = windows.low[spatial];
  high[dim] = windows.high[spatial];
  Value padded = build.pad(x, low, high);
  Value sum;
  for (int64_t at = 0; at < windows.kernel[spatial]; ++at) {
    Value term = build.slice(padded, dim, at * windows.dilations[spatial],
                             count, windows.strides[spatial]);
    sum = sum ? build.add(sum, term) : term;
  }
  return sum;
}

// Windows are boxes, so one dim is summed after the other.
static Value sumWindows(TensorBuilder &build, Value x, const Windows &windows,
                        ArrayRef<int64_t> result) {
  for (unsigned spatial = 0; spatial < windows.rank(); ++spatial) {
    int64_t dim = spatial + 2, size = windows.kernel[spatial];
    bool tiles = windows.strides[spatial] == size &&
                 windows.dilations[spatial] == 1 && windows.low[spatial] == 0 &&
                 windows.high[spatial] == 0 &&
                 shapeOf(x)[dim] == size * result[dim];
    x = tiles ? sumTiles(build, x, dim, size)
              : sumSlices(build, x, windows, spatial, result[dim]);
  }
  return x;
}

// --- AveragePool -----------------------------------------------------------

// How many elements of each window along `dim` count: those inside the input,
// or inside `padded` too; never those that ceil_mode hangs over the end.
static SmallVector<double> countElements(const Windows &windows, unsigned dim,
                                         int64_t size, int64_t count,
                                         int64_t low, int64_t high) {
  SmallVector<double> counts;
  for (int64_t window = 0; window < count; ++window) {
    int64_t start = window * windows.strides[dim] - windows.low[dim];
    double inside = 0;
    for (int64_t at = 0; at < windows.kernel[dim]; ++at) {
      int64_t element = start + at * windows.dilations[dim];
      inside += element >= -low && element < size + high;
    }
    counts.push_back(inside);
  }
  return counts;
}

namespace {
/// An average over windows, with how many of their elements count.
class Averager {
public:
  /// Windows that hang over the `given` pads, by ceil_mode, do not count what
  /// they have there.
  Averager(NodeContext &context, const Windows &given)
      : build(context.build), image(context.operand(0)),
        shape(context.resultShape()), windows(given) {
    fitToResult(windows, shapeOf(image), shape);
    bool countPads = context.node.getInt("count_include_pad", 0) != 0;
    for (unsigned dim = 0; dim < windows.rank(); ++dim) {
      int64_t size = shapeOf(image)[dim + 2], count = shape[dim + 2];
      onImage.push_back(countElements(windows, dim, size, count, 0, 0));
      counts.push_back(countPads
                           ? countElements(windows, dim, size, count,
                                           given.low[dim], given.high[dim])
                           : onImage.back());
    }
  }

  Value run() {
    if (isWholeImage())
      return build.mean(image, spatialDims(), true);
    if (!isDense() || !everyWindowIsOnImage())
      return divideSlices();
    if (counts == onImage)
      return pool(/*countIncludePad=*/false);
    return areAllElements(counts) ? pool(/*countIncludePad=*/true)
                                  : divideSlices();
  }

private:
  SmallVector<int64_t> spatialDims() const {
    return llvm::to_vector(llvm::seq<int64_t>(2, rankOf(image)));
  }
  bool isWholeImage() const {
    return llvm::all_of(shape.drop_front(2),
                        [](int64_t places) { return places == 1; }) &&
           ArrayRef(windows.kernel) == shapeOf(image).drop_front(2) &&
           areAllElements(onImage);
  }
  bool isDense() const {
    return llvm::all_of(windows.dilations, [](int64_t d) { return d == 1; });
  }
  bool everyWindowIsOnImage() const {
    return llvm::all_of(onImage, [](ArrayRef<double> dim) {
      return !llvm::is_contained(dim, 0.0);
    });
  }
  using Counts = SmallVector<SmallVector<double>>; // per dim and place

  bool areAllElements(const Counts &counted) const {
    return llvm::all_of(llvm::zip(counted, windows.kernel), [](auto dim) {
      auto [own, size] = dim;
      return llvm::all_of(
          own, [size = size](double count) { return count == size; });
    });
  }

  Value pool(bool countIncludePad) {
    Windows reached = windows;
    Value input = cropToReach(build, image, reached);
    auto type = RankedTensorType::get(shape, elementTypeOf(image));
    return train::AveragePoolOp::create(
        build.builder, build.loc, type, input, reached.kernel, reached.strides,
        reached.low, reached.high, countIncludePad, /*channels_last=*/false);
  }
  Value divideSlices();

  TensorBuilder &build;
  Value image;
  ArrayRef<int64_t> shape;
  Windows windows;
  Counts onImage, counts; // how many elements are, and how many count
};
} // namespace

Value Averager::divideSlices() {
  Value result = sumWindows(build, image, windows, shape);
  double elements = 1;
  for (auto [dim, own] : llvm::enumerate(counts)) {
    for (double &count : own) // the average of nothing is 0
      count = std::max(count, 1.0);
    if (llvm::all_equal(own)) {
      elements *= own.front();
      continue;
    }
    Value divisors = build.floats(
        RankedTensorType::get(own.size(), elementTypeOf(image)), own);
    result =
        build.div(result, build.broadcast(divisors, shapeOf(result), dim + 2));
  }
  return elements == 1 ? result : build.div(result, elements);
}

static LogicalResult lowerAveragePool(NodeContext &context) {
  FailureOr<Windows> windows = poolWindows(context);
  if (failed(windows))
    return failure();
  return context.set(Averager(context, *windows).run());
}

// --- LpPool ----------------------------------------------------------------

static Value power(TensorBuilder &build, Value x, double exponent) {
  if (exponent == 1)
    return x;
  return train::PowOp::create(build.builder, build.loc, x.getType(), x,
                              build.splatLike(x, exponent));
}

static FailureOr<double> normOrder(NodeContext &context) {
  int64_t p = context.node.getInt("p", 2);
  if (p > 0)
    return static_cast<double>(p);
  context.emitError() << "expected a positive p, found " << p;
  return failure();
}

static LogicalResult lowerLpPool(NodeContext &context) {
  FailureOr<Windows> windows = poolWindows(context);
  FailureOr<double> order = normOrder(context);
  if (failed(windows) || failed(order))
    return failure();
  TensorBuilder &build = context.build;
  Value x = context.operand(0);
  double p = *order;
  fitToResult(*windows, shapeOf(x), context.resultShape());
  Value powers = p == 2 ? build.mul(x, x) : power(build, build.abs(x), p);
  Value sum = sumWindows(build, powers, *windows, context.resultShape());
  return context.set(p == 2 ? build.unary<train::SqrtOp>(sum)
                            : power(build, sum, 1 / p));
}

// --- Global ----------------------------------------------------------------

static FailureOr<SmallVector<int64_t>> spatialDims(NodeContext &context) {
  if (failed(context.requireFloat(0)))
    return failure();
  int64_t rank = rankOf(context.operand(0));
  if (rank < 3) {
    context.emitError() << "expected an input of at least 3 dims, found "
                        << context.operand(0).getType();
    return failure();
  }
  return llvm::to_vector(llvm::seq<int64_t>(2, rank));
}

static LogicalResult lowerGlobalAverage(NodeContext &context) {
  FailureOr<SmallVector<int64_t>> dims = spatialDims(context);
  if (failed(dims))
    return failure();
  return context.set(context.build.mean(context.operand(0), *dims, true));
}

static LogicalResult lowerGlobalMax(NodeContext &context) {
  FailureOr<SmallVector<int64_t>> dims = spatialDims(context);
  if (failed(dims))
    return failure();
  return context.set(
      context.build.reduce(ReduceKind::Max, context.operand(0), *dims, true));
}

static LogicalResult lowerGlobalLp(NodeContext &context) {
  FailureOr<SmallVector<int64_t>> dims = spatialDims(context);
  FailureOr<double> order = normOrder(context);
  if (failed(dims) || failed(order))
    return failure();
  TensorBuilder &build = context.build;
  double p = *order;
  Value powers = power(build, build.abs(context.operand(0)), p);
  return context.set(
      power(build, build.reduce(ReduceKind::Sum, powers, *dims, true), 1 / p));
}

void zc::registerPooling(LoweringRegistry &registry) {
  registry.add("MaxPool", 1, 22, lowerMaxPool);
  registry.add("AveragePool", 7, 22, lowerAveragePool);
  registry.add("LpPool", 2, 22, lowerLpPool);
  registry.add("GlobalAveragePool", 1, 22, lowerGlobalAverage);
  registry.add("GlobalMaxPool", 1, 22, lowerGlobalMax);
  registry.add("GlobalLpPool", 2, 22, lowerGlobalLp);
}
