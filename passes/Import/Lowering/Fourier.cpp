//===- Fourier.cpp - DFT, STFT --------------------------------------------===//
//
// Rows of complex numbers [R, n, 2] are multiplied by the matrix of the roots
// of unity; long ones by parts (Cooley and Tukey): a transform of every q-th
// element, a turn of each, a transform of what stands together. The gradient is
// that of the products.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "passes/Import/Lowering/LoweringRegistry.h"
#include "passes/Import/Lowering/NodeContext.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace zc;

// Up to here one product beats three passes over memory.
static constexpr int64_t kMostAtOnce = 128;
// The longest transform whose length has no divisors.
static constexpr int64_t kMostPrime = 2048;

/// The divisor of `length` that is nearest to its square root from below.
static int64_t findDivisor(int64_t length) {
  int64_t divisor = std::sqrt(static_cast<double>(length));
  while (length % divisor != 0)
    --divisor;
  return divisor;
}

namespace {
/// Transforms rows, without dividing by their length.
class Transform {
public:
  Transform(TensorBuilder &build, bool inverse)
      : build(build), turn(inverse ? 1 : -1) {}

  /// Whether rows of `length` can be transformed.
  static bool canDo(int64_t length) {
    return length <= kMostPrime ||
           (findDivisor(length) > 1 && canDo(findDivisor(length)) &&
            canDo(length / findDivisor(length)));
  }

  /// `rows` [R, n, 1] of real numbers, or [R, n, 2], to [R, n, 2].
  Value run(Value rows) {
    int64_t length = shapeOf(rows)[1];
    int64_t divisor = findDivisor(length);
    if (length <= kMostAtOnce || divisor == 1)
      return multiply(rows);
    return runByParts(rows, divisor, length / divisor);
  }

private:
  /// The root of unity e^(2 pi i at / length), or its inverse; quarters of a
  /// turn are exact.
  std::pair<double, double> rootOfUnity(int64_t at, int64_t length) const {
    at %= length;
    if (4 * at % length == 0) {
      static constexpr double kSines[] = {0, 1, 0, -1, 0};
      int64_t quarters = 4 * at / length;
      return {kSines[quarters + 1], turn * kSines[quarters]};
    }
    double angle =
        2 * M_PI * static_cast<double>(at) / static_cast<double>(length);
    return {std::cos(angle), turn * std::sin(angle)};
  }

  Value multiply(Value rows);
  Value runByParts(Value rows, int64_t p, int64_t q);
  Value turnElements(Value x);

  TensorBuilder &build;
  double turn;
};
} // namespace

Value Transform::multiply(Value rows) {
  ArrayRef<int64_t> shape = shapeOf(rows);
  int64_t length = shape[1], parts = shape[2];
  SmallVector<double> matrix;
  for (int64_t from = 0; from < length; ++from)
    for (int64_t part = 0; part < parts; ++part)
      for (int64_t to = 0; to < length; ++to) {
        auto [cosine, sine] = rootOfUnity(from * to, length);
        matrix.push_back(part ? -sine : cosine);
        matrix.push_back(part ? cosine : sine);
      }
  auto type =
      RankedTensorType::get({length * parts, length * 2}, elementTypeOf(rows));
  Value product = build.matmul(build.reshape(rows, {shape[0], length * parts}),
                               build.floats(type, matrix));
  return build.reshape(product, {shape[0], length, 2});
}

/// x [R, q, p, 2]: element (j, k) of each row times the root at j k of p q.
Value Transform::turnElements(Value x) {
  ArrayRef<int64_t> shape = shapeOf(x);
  int64_t q = shape[1], p = shape[2];
  SmallVector<double> cosines, sines;
  for (int64_t j = 0; j < q; ++j)
    for (int64_t k = 0; k < p; ++k) {
      auto [cosine, sine] = rootOfUnity(j * k, p * q);
      cosines.push_back(cosine);
      sines.push_back(sine);
    }
  SmallVector<int64_t> half(shape);
  half.back() = 1;
  auto spread = [&](ArrayRef<double> numbers) {
    auto type = RankedTensorType::get({q, p}, elementTypeOf(x));
    return build.broadcast(build.floats(type, numbers), half, {1, 2});
  };
  Value c = spread(cosines), s = spread(sines);
  Value real = build.slice(x, 3, 0, 1), imaginary = build.slice(x, 3, 1, 1);
  return build.concat({build.sub(build.mul(real, c), build.mul(imaginary, s)),
                       build.add(build.mul(real, s), build.mul(imaginary, c))},
                      3);
}

Value Transform::runByParts(Value rows, int64_t p, int64_t q) {
  int64_t count = shapeOf(rows)[0], parts = shapeOf(rows)[2];
  Value x = build.reshape(rows, {count, p, q, parts});
  x = build.reshape(build.transpose(x, {0, 2, 1, 3}), {count * q, p, parts});
  x = turnElements(build.reshape(run(x), {count, q, p, 2}));
  x = build.reshape(build.transpose(x, {0, 2, 1, 3}), {count * p, q, 2});
  x = build.reshape(run(x), {count, p, q, 2});
  return build.reshape(build.transpose(x, {0, 2, 1, 3}), {count, p * q, 2});
}

/// `count` elements along dim 1: the first ones, or zeros after all.
static Value fit(TensorBuilder &build, Value rows, int64_t count) {
  return build.pad(rows, {0, 0, 0}, {0, count - shapeOf(rows)[1], 0});
}

/// The other half of a spectrum of real rows: the conjugates, backwards.
static Value mirror(TensorBuilder &build, Value half, int64_t length) {
  int64_t missing = length - shapeOf(half)[1];
  if (missing == 0)
    return half;
  SmallVector<int64_t> backwards;
  for (int64_t at = missing; at > 0; --at)
    backwards.push_back(at);
  Value taken = build.take(half, backwards, 1);
  Value real = build.slice(taken, 2, 0, 1);
  Value imaginary = build.neg(build.slice(taken, 2, 1, 1));
  return build.concat({half, build.concat({real, imaginary}, 2)}, 1);
}

static LogicalResult requireLength(NodeContext &context, int64_t length) {
  if (length > 0 && Transform::canDo(length))
    return success();
  return context.emitError()
         << "transforms " << length
         << " elements; zc computes lengths of at least 1 without prime "
            "factors above "
         << kMostPrime;
}

// --- DFT -------------------------------------------------------------------

namespace {
struct DftOptions {
  int64_t axis, length;
  bool inverse, onesided;
};
} // namespace

// The axis is an attribute before opset 20, an operand since.
static FailureOr<DftOptions> readDft(NodeContext &context) {
  Value x = context.operand(0);
  bool isOperand = context.node.getSinceVersion() >= 20;
  double axis = isOperand ? -2 : context.node.getInt("axis", 1);
  if (isOperand && context.has(2)) {
    FailureOr<double> given = context.number(2, "axis");
    if (failed(given))
      return failure();
    axis = *given;
  }
  FailureOr<int64_t> dim =
      context.getAxis(static_cast<int64_t>(axis), rankOf(x));
  if (failed(dim))
    return failure();
  bool inverse = context.node.getInt("inverse", 0) != 0;
  bool onesided = context.node.getInt("onesided", 0) != 0;
  int64_t parts = shapeOf(x).back();
  bool fits = *dim + 1 < rankOf(x) && (parts == 1 || parts == 2) &&
              (!onesided || parts == (inverse ? 2 : 1));
  if (!fits) {
    context.emitError() << "cannot transform dim " << *dim << " of "
                        << x.getType() << (onesided ? " one-sided" : "");
    return failure();
  }
  int64_t length = shapeOf(x)[*dim];
  if (onesided && inverse)
    length = 2 * (length - 1);
  if (context.has(1)) {
    FailureOr<double> given = context.number(1, "dft_length");
    if (failed(given))
      return failure();
    length = static_cast<int64_t>(*given);
  }
  return DftOptions{*dim, length, inverse, onesided};
}

static LogicalResult lowerDft(NodeContext &context) {
  if (failed(context.requireFloat(0)))
    return failure();
  FailureOr<DftOptions> options = readDft(context);
  if (failed(options) || failed(requireLength(context, options->length)))
    return failure();
  TensorBuilder &build = context.build;
  Value x = context.operand(0);
  SmallVector<int64_t> order;
  for (int64_t dim = 0; dim + 1 < rankOf(x); ++dim)
    if (dim != options->axis)
      order.push_back(dim);
  llvm::append_values(order, options->axis, rankOf(x) - 1);
  x = build.transpose(x, order);
  SmallVector<int64_t> shape(shapeOf(x));
  int64_t count = ShapedType::getNumElements(ArrayRef(shape).drop_back(2));
  Value rows = build.reshape(x, {count, shape[shape.size() - 2], shape.back()});
  int64_t length = options->length, half = length / 2 + 1;
  bool toReal = options->inverse && options->onesided;
  rows = fit(build, rows, toReal ? half : length);
  if (toReal)
    rows = mirror(build, rows, length);
  rows = Transform(build, options->inverse).run(rows);
  if (options->inverse)
    rows = build.div(rows, static_cast<double>(length));
  if (toReal)
    rows = build.slice(rows, 2, 0, 1);
  else if (options->onesided)
    rows = build.slice(rows, 1, 0, half);
  shape[shape.size() - 2] = shapeOf(rows)[1];
  shape.back() = shapeOf(rows)[2];
  return context.set(build.transpose(build.reshape(rows, shape),
                                     invertPermutationVector(order)));
}

// --- STFT ------------------------------------------------------------------

/// The length of a frame: given, or the window's, or the signal's.
static FailureOr<int64_t> readFrameLength(NodeContext &context) {
  if (context.has(3)) {
    FailureOr<double> length = context.number(3, "frame_length");
    if (failed(length))
      return failure();
    return static_cast<int64_t>(*length);
  }
  return context.has(2) ? shapeOf(context.operand(2))[0]
                        : shapeOf(context.operand(0))[1];
}

static LogicalResult lowerStft(NodeContext &context) {
  FailureOr<double> step = context.number(1, "frame_step");
  FailureOr<int64_t> length = readFrameLength(context);
  if (failed(context.requireFloat(0)) || failed(step) || failed(length) ||
      failed(requireLength(context, *length)))
    return failure();
  TensorBuilder &build = context.build;
  Value signal = context.operand(0), window = context.operand(2);
  bool onesided = context.node.getInt("onesided", 1) != 0;
  int64_t parts = rankOf(signal) == 3 ? shapeOf(signal)[2] : 0;
  if ((parts != 1 && (parts != 2 || onesided)) || *step < 1 ||
      shapeOf(signal)[1] < *length ||
      (window && shapeOf(window) != ArrayRef<int64_t>{*length}))
    return context.emitError()
           << "cannot cut frames of " << *length << " every " << *step
           << " out of " << signal.getType();
  int64_t batch = shapeOf(signal)[0], stride = static_cast<int64_t>(*step);
  int64_t frames = (shapeOf(signal)[1] - *length) / stride + 1;
  SmallVector<int64_t> places;
  for (int64_t frame = 0; frame < frames; ++frame)
    for (int64_t at = 0; at < *length; ++at)
      places.push_back(frame * stride + at);
  Value rows = build.reshape(build.gather(signal, build.integers(places), 1),
                             {batch * frames, *length, parts});
  if (window)
    rows = build.mul(rows, build.broadcast(window, shapeOf(rows), 1));
  rows = Transform(build, /*inverse=*/false).run(rows);
  if (onesided)
    rows = build.slice(rows, 1, 0, *length / 2 + 1);
  return context.set(build.reshape(rows, {batch, frames, shapeOf(rows)[1], 2}));
}

// --- MelWeightMatrix -------------------------------------------------------

// Triangles over the bins of a spectrum, each from the middle of the one before
// to the middle of the next; evenly spaced as the ear hears.
static SmallVector<double> melWeights(int64_t bands, int64_t bins,
                                      ArrayRef<int64_t> edges) {
  SmallVector<double> weights(bins * bands, 0);
  auto set = [&](int64_t bin, int64_t band, double weight) {
    if (bin >= 0 && bin < bins)
      weights[bin * bands + band] = weight;
  };
  for (int64_t band = 0; band < bands; ++band) {
    int64_t low = edges[band], middle = edges[band + 1], high = edges[band + 2];
    if (low == middle)
      set(middle, band, 1);
    for (int64_t bin = low; bin <= middle && low < middle; ++bin)
      set(bin, band, double(bin - low) / (middle - low));
    for (int64_t bin = middle; bin < high; ++bin)
      set(bin, band, double(high - bin) / (high - middle));
  }
  return weights;
}

static LogicalResult lowerMelWeightMatrix(NodeContext &context) {
  SmallVector<double> given;
  constexpr StringLiteral kNames[] = {"num_mel_bins", "dft_length",
                                      "sample_rate", "lower_edge_hertz",
                                      "upper_edge_hertz"};
  for (auto [index, name] : llvm::enumerate(kNames)) {
    FailureOr<double> number = context.number(index, name);
    if (failed(number))
      return failure();
    given.push_back(*number);
  }
  auto toMel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  int64_t bands = given[0], length = given[1], bins = length / 2 + 1;
  RankedTensorType type = context.resultType();
  if (bands < 1 || length < 1 || given[2] <= 0 ||
      !isa<FloatType>(type.getElementType()) ||
      type.getShape() != ArrayRef<int64_t>{bins, bands})
    return context.emitError() << "cannot make " << type << " of " << bands
                               << " bands of " << bins << " frequencies";
  double lowest = toMel(given[3]);
  double step = (toMel(given[4]) - lowest) / (bands + 2);
  SmallVector<int64_t> edges;
  for (int64_t band = 0; band < bands + 2; ++band) {
    double hertz = 700 * (std::pow(10, (lowest + band * step) / 2595) - 1);
    edges.push_back(std::floor((length + 1) * hertz / given[2]));
  }
  return context.set(
      context.build.floats(type, melWeights(bands, bins, edges)));
}

void zc::registerFourier(LoweringRegistry &registry) {
  registry.add("DFT", 17, 20, lowerDft);
  registry.add("STFT", 17, 17, lowerStft);
  registry.add("MelWeightMatrix", 17, 17, lowerMelWeightMatrix);
}
