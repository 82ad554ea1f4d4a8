//===- GridSample.cpp - pixels at computed places -------------------------===//
//
// The pixels around every place are gathered from a table of all pixels, each
// a row of channels, and weighed by how near they are. So the image's gradient
// is a scatter, and the places' comes through the weights.
//
//===----------------------------------------------------------------------===//
#include "passes/Import/Lowering/LoweringRegistry.h"
#include "passes/Import/Lowering/NodeContext.h"

using namespace mlir;
using namespace zc;

namespace {

/// A pixel beside the places, along one spatial dim of the image.
struct Tap {
  Value pixel;  // which, as a float; outside the image perhaps
  Value weight; // null: 1
};

class Sampler {
public:
  explicit Sampler(NodeContext &context)
      : context(context), build(context.build), image(context.operand(0)),
        grid(context.operand(1)), spatial(rankOf(image) - 2),
        mode(context.node.getString("mode", "linear")),
        padding(context.node.getString("padding_mode", "zeros")),
        alignsCorners(context.node.getInt("align_corners", 0) != 0) {}

  LogicalResult run();

private:
  int64_t sizeOf(int64_t dim) { return shapeOf(image)[dim + 2]; }
  Value readPlace(int64_t dim);
  Value bringInside(Value place, int64_t size);
  Value reflect(Value place, double low, double high);
  SmallVector<Tap> findTaps(int64_t dim);
  SmallVector<Tap> findCubicTaps(Value place, int64_t size);
  Value imageRows();
  Value sample(Value rows, ArrayRef<Tap> taps);
  Value floor(Value value) { return build.unary<train::FloorOp>(value); }
  Value clamp(Value value, double low, double high) {
    return build.min(build.max(value, build.splatLike(value, low)),
                     build.splatLike(value, high));
  }

  NodeContext &context;
  TensorBuilder &build;
  Value image, grid;
  int64_t spatial;
  StringRef mode, padding;
  bool alignsCorners;
};

/// Mirrors at `low` and `high` until the place lies between them.
Value Sampler::reflect(Value place, double low, double high) {
  if (high <= low)
    return build.splatLike(place, low);
  double span = high - low;
  Value from = build.abs(build.add(place, -low));
  Value flips = floor(build.div(from, span));
  Value rest = build.sub(from, build.mul(flips, span));
  Value half = build.mul(flips, 0.5);
  Value isEven = build.compare(Predicate::Eq, floor(half), half);
  Value back = build.add(build.neg(rest), span);
  return build.add(build.select(isEven, rest, back), low);
}

/// Moves a place, or a pixel, outside the image to where the padding takes its
/// value from.
Value Sampler::bringInside(Value place, int64_t pixels) {
  double size = static_cast<double>(pixels);
  if (padding == "reflection")
    place = alignsCorners ? reflect(place, 0, size - 1)
                          : reflect(place, -0.5, size - 0.5);
  return padding == "zeros" ? place : clamp(place, 0, size - 1);
}

/// The places along one spatial dim, in pixels. The grid's last dim counts the
/// image's dims from the last one.
Value Sampler::readPlace(int64_t dim) {
  ArrayRef<int64_t> shape = shapeOf(grid);
  Value place =
      build.reshape(build.slice(grid, rankOf(grid) - 1, spatial - 1 - dim, 1),
                    shape.drop_back());
  double size = static_cast<double>(sizeOf(dim));
  // -1 and 1 are the centres of the outer pixels, or their outer edges.
  return alignsCorners
             ? build.mul(build.add(place, 1.0), (size - 1) / 2)
             : build.add(build.mul(build.add(place, 1.0), size / 2), -0.5);
}

/// The four pixels around a place, weighed by Keys' cubic with A = -3/4; each
/// for itself is brought inside.
SmallVector<Tap> Sampler::findCubicTaps(Value place, int64_t size) {
  static constexpr double kA = -0.75;
  Value corner = floor(place), rest = build.sub(place, corner);
  Value back = build.add(build.neg(rest), 1.0);
  auto near = [&](Value x) { // ((A + 2) x - (A + 3)) x^2 + 1
    Value line = build.add(build.mul(x, kA + 2), -(kA + 3));
    return build.add(build.mul(build.mul(line, x), x), 1.0);
  };
  auto far = [&](Value beyond) { // ((A x - 5 A) x + 8 A) x - 4 A
    Value x = build.add(beyond, 1.0);
    Value line = build.add(build.mul(x, kA), -5 * kA);
    Value parabola = build.add(build.mul(line, x), 8 * kA);
    return build.add(build.mul(parabola, x), -4 * kA);
  };
  SmallVector<Tap> taps{{build.add(corner, -1.0), far(rest)},
                        {corner, near(rest)},
                        {build.add(corner, 1.0), near(back)},
                        {build.add(corner, 2.0), far(back)}};
  for (Tap &tap : taps)
    tap.pixel = bringInside(tap.pixel, size);
  return taps;
}

SmallVector<Tap> Sampler::findTaps(int64_t dim) {
  Value place = readPlace(dim);
  if (mode == "cubic")
    return findCubicTaps(place, sizeOf(dim));
  place = bringInside(place, sizeOf(dim));
  if (mode == "nearest")
    return {{build.unary<train::RoundOp>(place), Value()}};
  Value corner = floor(place), rest = build.sub(place, corner);
  return {{corner, build.add(build.neg(rest), 1.0)},
          {build.add(corner, 1.0), rest}};
}

/// All pixels of all images, each a row of channels.
Value Sampler::imageRows() {
  SmallVector<int64_t> toRows{0};
  for (int64_t dim = 0; dim < spatial; ++dim)
    toRows.push_back(dim + 2);
  toRows.push_back(1);
  int64_t channels = shapeOf(image)[1];
  return build.reshape(
      build.transpose(image, toRows),
      {ShapedType::getNumElements(shapeOf(image)) / channels, channels});
}

/// The pixels at one tap of every spatial dim, weighed; 0 outside the image.
Value Sampler::sample(Value rows, ArrayRef<Tap> taps) {
  Type integer = build.builder.getI64Type();
  ArrayRef<int64_t> places = shapeOf(taps[0].pixel);
  Value at = build.iota(places, 0, integer), weight;
  auto weigh = [&](Value factor) {
    weight = weight ? build.mul(weight, factor) : factor;
  };
  for (auto [dim, tap] : llvm::enumerate(taps)) {
    double size = static_cast<double>(sizeOf(dim));
    Value inside = clamp(tap.pixel, 0, size - 1);
    if (tap.weight)
      weigh(tap.weight);
    weigh(build.convert(build.compare(Predicate::Eq, inside, tap.pixel),
                        elementTypeOf(tap.pixel)));
    at = build.add(build.mul(at, build.splatLike(at, size)),
                   build.convert(inside, integer));
  }
  Value pixels = build.gather(rows, at, 0);
  Value factor = build.broadcast(
      build.convert(weight, elementTypeOf(pixels)), shapeOf(pixels),
      llvm::to_vector(llvm::seq<int64_t>(0, places.size())));
  return build.mul(pixels, factor);
}

LogicalResult Sampler::run() {
  if (mode == "bilinear" || mode == "bicubic")
    mode = mode.drop_front(2);
  if (mode != "linear" && mode != "nearest" && mode != "cubic")
    return context.emitError() << "expected mode linear, nearest or cubic, "
                                  "found '"
                               << mode << "'";
  SmallVector<SmallVector<Tap>> taps;
  for (int64_t dim = 0; dim < spatial; ++dim)
    taps.push_back(findTaps(dim));
  Value rows = imageRows(), sum;
  int64_t combinations = 1;
  for (ArrayRef<Tap> ofDim : taps)
    combinations *= ofDim.size();
  for (int64_t at = 0; at < combinations; ++at) {
    SmallVector<Tap> chosen;
    int64_t rest = at;
    for (ArrayRef<Tap> ofDim : taps) {
      chosen.push_back(ofDim[rest % ofDim.size()]);
      rest /= ofDim.size();
    }
    Value term = sample(rows, chosen);
    sum = sum ? build.add(sum, term) : term;
  }
  SmallVector<int64_t> toChannels{0, rankOf(sum) - 1};
  for (int64_t dim = 1; dim + 1 < rankOf(sum); ++dim)
    toChannels.push_back(dim);
  return context.set(build.transpose(sum, toChannels));
}

} // namespace

static LogicalResult lowerGridSample(NodeContext &context) {
  if (failed(context.requireFloat(0)) || failed(context.requireFloat(1)))
    return failure();
  Value image = context.operand(0), grid = context.operand(1);
  if (rankOf(image) < 3 || rankOf(grid) != rankOf(image) ||
      shapeOf(grid).back() != rankOf(image) - 2 ||
      shapeOf(grid)[0] != shapeOf(image)[0])
    return context.emitError() << "cannot sample " << image.getType()
                               << " at the places of " << grid.getType();
  return Sampler(context).run();
}

void zc::registerGridSample(LoweringRegistry &registry) {
  registry.add("GridSample", 16, 22, lowerGridSample);
}
