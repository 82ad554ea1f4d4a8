//===- Resize.cpp - nearest, linear and cubic interpolation ---------------===//
//
// All of ONNX's interpolations work dim by dim. A nearest one copies elements;
// a linear or cubic one multiplies by a constant matrix, whose gradient is
// another product.
//
//===----------------------------------------------------------------------===//
#include "passes/Import/Lowering/LoweringRegistry.h"
#include "passes/Import/Lowering/NodeContext.h"
#include <cmath>

using namespace mlir;
using namespace zc;

namespace {
/// How one dim is resized; of a crop, from where to where, as shares of the
/// dim.
struct Resizing {
  int64_t dim, from, to;
  double scale;
  /// Whether the scale is to / from, and no number of its own.
  bool isOfSizes;
  double begin = 0, end = 1;
};
} // namespace

static constexpr StringLiteral kCrop = "tf_crop_and_resize";

// --- Crops -----------------------------------------------------------------

// The first half of `roi` says where the dims begin, the other where they end.
static LogicalResult readCrop(NodeContext &context,
                              MutableArrayRef<Resizing> resizings) {
  if (!context.has(1))
    return context.emitError() << "expected the input roi, which says where "
                                  "to crop";
  FailureOr<DenseElementsAttr> value = context.constant(1, "roi");
  if (failed(value))
    return failure();
  int64_t count = resizings.size();
  if (value->getNumElements() != 2 * count ||
      !isa<FloatType>(value->getElementType()))
    return context.emitError() << "expected " << 2 * count
                               << " numbers of roi, found " << value->getType();
  auto numbers = llvm::to_vector(value->getValues<APFloat>());
  for (auto [index, resizing] : llvm::enumerate(resizings)) {
    resizing.begin = numbers[index].convertToDouble();
    resizing.end = numbers[count + index].convertToDouble();
  }
  return success();
}

// --- Scales ----------------------------------------------------------------

static FailureOr<SmallVector<double>> readScales(NodeContext &context,
                                                 size_t count) {
  SmallVector<double> scales;
  if (!context.has(2))
    return scales;
  FailureOr<DenseElementsAttr> value = context.constant(2, "scales");
  if (failed(value))
    return failure();
  if (value->getNumElements() == 0)
    return scales;
  if (value->getNumElements() != static_cast<int64_t>(count) ||
      !isa<FloatType>(value->getElementType())) {
    context.emitError() << "expected " << count << " scales, found "
                        << value->getType();
    return failure();
  }
  for (APFloat scale : value->getValues<APFloat>()) {
    scales.push_back(scale.convertToDouble());
    if (!(scales.back() > 0)) {
      context.emitError() << "expected positive scales, found "
                          << scales.back();
      return failure();
    }
  }
  return scales;
}

// If sizes keep the aspect ratio, the smallest, or largest, of their scales
// holds for all dims.
static FailureOr<std::optional<double>> commonScale(NodeContext &context,
                                                    ArrayRef<int64_t> dims) {
  StringRef policy =
      context.node.getString("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch")
    return std::optional<double>();
  FailureOr<SmallVector<int64_t>> sizes = context.integers(3, "sizes");
  if (failed(sizes))
    return failure();
  if (sizes->size() != dims.size()) {
    context.emitError() << "expected " << dims.size() << " sizes, found "
                        << sizes->size();
    return failure();
  }
  std::optional<double> common;
  for (auto [dim, size] : llvm::zip(dims, *sizes)) {
    double scale = static_cast<double>(size) / shapeOf(context.operand(0))[dim];
    if (!common)
      common = scale;
    common = policy == "not_larger" ? std::min(*common, scale)
                                    : std::max(*common, scale);
  }
  return common;
}

static FailureOr<SmallVector<Resizing>> readResizings(NodeContext &context) {
  Value x = context.operand(0);
  if (llvm::is_contained(shapeOf(x), 0) ||
      context.resultType().getRank() != rankOf(x)) {
    context.emitError() << "cannot resize " << x.getType() << " to "
                        << context.resultType();
    return failure();
  }
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, rankOf(x)));
  if (auto given = context.node.getInts("axes"))
    axes.assign(given->begin(), given->end());
  FailureOr<SmallVector<int64_t>> dims = context.getAxes(axes, rankOf(x));
  if (failed(dims))
    return failure();
  auto scales = readScales(context, dims->size());
  if (failed(scales))
    return failure();
  std::optional<double> common;
  if (scales->empty()) {
    auto kept = commonScale(context, *dims);
    if (failed(kept))
      return failure();
    common = *kept;
  }
  SmallVector<Resizing> resizings;
  for (auto [index, dim] : llvm::enumerate(*dims)) {
    int64_t from = shapeOf(x)[dim], to = context.resultShape()[dim];
    double scale = static_cast<double>(to) / from;
    if (!scales->empty())
      scale = (*scales)[index];
    else if (common)
      scale = *common;
    resizings.push_back({dim, from, to, scale, scales->empty() && !common});
  }
  if (context.node.getString("coordinate_transformation_mode", "") == kCrop &&
      failed(readCrop(context, resizings)))
    return failure();
  llvm::erase_if(resizings, [](const Resizing &resizing) {
    return resizing.from == resizing.to && resizing.scale == 1 &&
           resizing.begin == 0 && resizing.end == 1;
  });
  return resizings;
}

// --- Coordinates -----------------------------------------------------------

// Where two elements are as near, rounding decides which of them a nearest one
// copies; so all of it is done in the order and precision of those who write
// such models.

// How far into the input `elements` of the result reach. PyTorch, whose
// exporter writes sizes, multiplies by their ratio, and so does zc. 14 rows of
// which 2 are taken are then 7 apart; ONNX Runtime divides by the rounded scale
// 0.14285715, and takes the sixth. Where the file itself has a scale, it is of
// single precision already, and zc divides by it as ONNX Runtime: PyTorch has
// multiplied by the inverse of a more precise one, which is in no file.
static float reachInput(const Resizing &resizing, float elements) {
  return resizing.isOfSizes
             ? elements * (static_cast<float>(resizing.from) / resizing.to)
             : elements / static_cast<float>(resizing.scale);
}

// The corners are those of the result, as in PyTorch and ONNX Runtime; ONNX's
// own reference divides by scale times size, which may be no whole number. An
// interpolated coordinate is as in PyTorch, which copies no nearest elements
// this way; of those the division last leaves whole numbers whole.
static float alignCorners(const Resizing &resizing, float at, bool copies) {
  const float last = resizing.from - 1, steps = resizing.to - 1;
  if (steps == 0)
    return 0;
  return copies ? at * last / steps : at * (last / steps);
}

static float cropCoordinate(const Resizing &resizing, float at) {
  const float begin = resizing.begin, end = resizing.end;
  const float last = resizing.from - 1, steps = resizing.to - 1;
  return steps == 0 ? 0.5f * (begin + end) * last
                    : begin * last + at * (end - begin) * last / steps;
}

// The result lies in the middle of the input also where the scale times the
// input's size is no whole number, as that of sizes always is. ONNX Runtime
// adds in double precision here.
static float symmetricCoordinate(const Resizing &resizing, float at) {
  const float scale = resizing.scale, from = resizing.from, to = resizing.to;
  const float offset = from / 2 * (1 - to / (scale * from));
  return offset + (at + 0.5) / scale - 0.5;
}

// Where element `at` of the result lies in the input; `copies`: the nearest one
// is copied.
static double originalCoordinate(StringRef mode, const Resizing &resizing,
                                 float at, bool copies) {
  if (mode == "asymmetric")
    return reachInput(resizing, at);
  if (mode == "align_corners")
    return alignCorners(resizing, at, copies);
  if (mode == kCrop)
    return cropCoordinate(resizing, at);
  // PyTorch rounds before it takes half an element off, and nothing is rounded
  // after it.
  const double middle = reachInput(resizing, at + 0.5f);
  if (mode == "tf_half_pixel_for_nn")
    return middle;
  if (mode == "pytorch_half_pixel" && resizing.to <= 1)
    return 0;
  if (mode == "half_pixel_symmetric" && !resizing.isOfSizes)
    return symmetricCoordinate(resizing, at);
  return middle - 0.5;
}

static int64_t nearest(StringRef mode, double coordinate) {
  if (mode == "floor")
    return std::floor(coordinate);
  if (mode == "ceil")
    return std::ceil(coordinate);
  if (mode == "round_prefer_ceil")
    return std::floor(coordinate + 0.5);
  return std::ceil(coordinate - 0.5);
}

// --- Weights ---------------------------------------------------------------

// Keys' cubic kernel, by the distance from the coordinate.
static double cubic(double a, double distance) {
  double x = std::abs(distance);
  if (x <= 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2)
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

static double weightAt(NodeContext &context, double distance) {
  if (context.node.getString("mode", "nearest") == "linear")
    return std::max(0.0, 1 - std::abs(distance));
  return cubic(context.getFloat("cubic_coeff_a", -0.75), distance);
}

// The weights of the input's elements in one element of the result. Elements
// outside repeat the edge, or do not count. With antialias the kernel spreads
// over as many more elements as the dim shrinks.
static SmallVector<double>
weightsOf(NodeContext &context, const Resizing &resizing, double coordinate) {
  bool exclude = context.node.getInt("exclude_outside", 0) != 0;
  bool smooths = context.node.getInt("antialias", 0) != 0 && resizing.scale < 1;
  double density = smooths ? resizing.scale : 1;
  int64_t size = resizing.from;
  auto reach = static_cast<int64_t>(std::ceil(2 / density));
  SmallVector<double> weights(size, 0);
  double sum = 0;
  int64_t base = std::floor(coordinate);
  for (int64_t at = base - reach; at <= base + 1 + reach; ++at) {
    if (exclude && (at < 0 || at >= size))
      continue;
    double weight = weightAt(context, (coordinate - at) * density);
    weights[std::clamp<int64_t>(at, 0, size - 1)] += weight;
    sum += weight;
  }
  if (exclude || smooths)
    for (double &weight : weights)
      weight /= sum;
  return weights;
}

// --- Resizing one dim ------------------------------------------------------

// Each element `times` times: cheaper than a gather, in the gradient too.
static Value repeatElements(TensorBuilder &build, Value x, int64_t dim,
                            int64_t times) {
  SmallVector<int64_t> shape(shapeOf(x)), dims, result(shape);
  shape.insert(shape.begin() + dim + 1, times);
  for (int64_t from = 0; from < rankOf(x); ++from)
    dims.push_back(from <= dim ? from : from + 1);
  result[dim] *= times;
  return build.reshape(build.broadcast(x, shape, dims), result);
}

static Value resizeNearest(NodeContext &context, Value x,
                           const Resizing &resizing, StringRef coordinates) {
  StringRef rounding =
      context.node.getString("nearest_mode", "round_prefer_floor");
  SmallVector<int64_t> sources;
  for (int64_t at = 0; at < resizing.to; ++at)
    sources.push_back(std::clamp<int64_t>(
        nearest(rounding, originalCoordinate(coordinates, resizing, at,
                                             /*copies=*/true)),
        0, resizing.from - 1));
  int64_t times = resizing.to / resizing.from;
  bool repeats = times * resizing.from == resizing.to;
  for (int64_t at = 0; at < resizing.to && repeats; ++at)
    repeats = sources[at] == at / times;
  return repeats ? repeatElements(context.build, x, resizing.dim, times)
                 : context.build.take(x, sources, resizing.dim);
}

static Value resizeByWeights(NodeContext &context, Value x,
                             const Resizing &resizing, StringRef coordinates) {
  TensorBuilder &build = context.build;
  SmallVector<double> matrix;
  for (int64_t at = 0; at < resizing.to; ++at)
    llvm::append_range(matrix,
                       weightsOf(context, resizing,
                                 originalCoordinate(coordinates, resizing, at,
                                                    /*copies=*/false)));
  Value weights = build.floats(
      RankedTensorType::get({resizing.to, resizing.from}, elementTypeOf(x)),
      matrix);
  // The resized dim goes last, and rows times matrix bring it back.
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, rankOf(x)));
  std::swap(permutation[resizing.dim], permutation.back());
  Value rows = build.transpose(x, permutation);
  SmallVector<int64_t> shape(shapeOf(rows));
  int64_t count = ShapedType::getNumElements(ArrayRef(shape).drop_back());
  Value product = build.matmul(build.reshape(rows, {count, resizing.from}),
                               weights, false, /*transposeRhs=*/true);
  shape.back() = resizing.to;
  return build.transpose(build.reshape(product, shape), permutation);
}

// A crop may reach out of the input: there lies `extrapolation_value`.
static Value extrapolate(NodeContext &context, Value x,
                         ArrayRef<Resizing> resizings) {
  TensorBuilder &build = context.build;
  for (const Resizing &resizing : resizings) {
    SmallVector<bool> isInside;
    for (int64_t at = 0; at < resizing.to; ++at) {
      double place = cropCoordinate(resizing, at);
      isInside.push_back(place >= 0 && place <= resizing.from - 1);
    }
    if (!llvm::is_contained(isInside, false))
      continue;
    auto type = RankedTensorType::get(resizing.to, build.builder.getI1Type());
    Value inside = train::ConstantOp::create(
        build.builder, build.loc, DenseElementsAttr::get(type, isInside));
    Value outside =
        build.splatLike(x, context.getFloat("extrapolation_value", 0));
    x = build.select(build.broadcast(inside, shapeOf(x), resizing.dim), x,
                     outside);
  }
  return x;
}

static LogicalResult lowerResize(NodeContext &context) {
  StringRef mode = context.node.getString("mode", "nearest");
  Value x = context.operand(0);
  Type element = elementTypeOf(x);
  // Copies of elements may be of any type. Images of quantised models are
  // interpolated as numbers, of which the fraction is cut off, as ONNX Runtime
  // does it.
  if (mode != "nearest" && element.isInteger(8))
    x = context.build.convert(x, context.build.builder.getF32Type());
  else if (mode != "nearest" && failed(context.requireFloat(0)))
    return failure();
  if (mode != "nearest" && mode != "linear" && mode != "cubic")
    return context.emitError()
           << "expected mode to be 'nearest', 'linear' or 'cubic', found '"
           << mode << "'";
  StringRef coordinates =
      context.node.getString("coordinate_transformation_mode", "half_pixel");
  FailureOr<SmallVector<Resizing>> resizings = readResizings(context);
  if (failed(resizings))
    return failure();
  for (const Resizing &resizing : *resizings)
    x = mode == "nearest" ? resizeNearest(context, x, resizing, coordinates)
                          : resizeByWeights(context, x, resizing, coordinates);
  if (coordinates == kCrop)
    x = extrapolate(context, x, *resizings);
  return context.set(context.build.convert(x, element));
}

void zc::registerResize(LoweringRegistry &registry) {
  registry.add("Resize", 11, 19, lowerResize);
}
