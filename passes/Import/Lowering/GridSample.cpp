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

/// Places along one spatial dim of the image, in pixels.
struct Coordinate {
  Value place;  // where, after padding has brought it near the image
  Value corner; // the pixel at or below it; the nearest one
  Value rest;   // from there, in [0, 1)
  int64_t size;
};

class Sampler {
public:
  explicit Sampler(NodeContext &context)
      : context(context), build(context.build), image(context.operand(0)),
        grid(context.operand(1)), spatial(rankOf(image) - 2),
        mode(context.node.getString("mode", "linear")),
        padding(context.node.getString("padding_mode", "zeros")),
        alignsCorners(context.node.getInt("align_corners", 0) != 0) {}

  LogicalResult run() {
    if (mode == "bilinear")
      mode = "linear";
    if (mode != "linear" && mode != "nearest")
      return context.emitError() << "expected mode linear or nearest, found '"
                                 << mode << "', which zc cannot compute";
    for (int64_t dim = 0; dim < spatial; ++dim)
      coordinates.push_back(readCoordinate(dim));
    SmallVector<int64_t> toRows{0};
    for (int64_t dim = 0; dim < spatial; ++dim)
      toRows.push_back(dim + 2);
    toRows.push_back(1);
    Value rows = build.transpose(image, toRows);
    int64_t channels = shapeOf(image)[1];
    rows = build.reshape(
        rows,
        {ShapedType::getNumElements(shapeOf(image)) / channels, channels});
    Value sum;
    unsigned corners = mode == "linear" ? 1u << spatial : 1;
    for (unsigned corner = 0; corner < corners; ++corner) {
      Value term = sampleCorner(rows, corner);
      sum = sum ? build.add(sum, term) : term;
    }
    SmallVector<int64_t> toChannels{0, rankOf(sum) - 1};
    for (int64_t dim = 1; dim + 1 < rankOf(sum); ++dim)
      toChannels.push_back(dim);
    return context.set(build.transpose(sum, toChannels));
  }

private:
  Coordinate readCoordinate(int64_t dim);
  Value reflect(Value place, double low, double high);
  Value sampleCorner(Value rows, unsigned corner);
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
  SmallVector<Coordinate> coordinates;
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
  Value isEven = build.compare("eq", floor(half), half);
  Value back = build.add(build.neg(rest), span);
  return build.add(build.select(isEven, rest, back), low);
}

/// The grid's last dim counts the image's dims from the last one.
Coordinate Sampler::readCoordinate(int64_t dim) {
  Coordinate result;
  result.size = shapeOf(image)[dim + 2];
  ArrayRef<int64_t> shape = shapeOf(grid);
  Value place =
      build.reshape(build.slice(grid, rankOf(grid) - 1, spatial - 1 - dim, 1),
                    shape.drop_back());
  double size = static_cast<double>(result.size);
  // -1 and 1 are the centres of the outer pixels, or their outer edges.
  place = alignsCorners
              ? build.mul(build.add(place, 1.0), (size - 1) / 2)
              : build.add(build.mul(build.add(place, 1.0), size / 2), -0.5);
  if (padding == "reflection")
    place = alignsCorners ? reflect(place, 0, size - 1)
                          : reflect(place, -0.5, size - 0.5);
  if (padding != "zeros")
    place = clamp(place, 0, size - 1);
  result.place = place;
  result.corner =
      mode == "nearest" ? build.unary<train::RoundOp>(place) : floor(place);
  result.rest = build.sub(place, result.corner);
  return result;
}

/// The pixels at one corner of the places' surroundings, weighed: bit d of
/// `corner` says that it is the upper one along dim d.
Value Sampler::sampleCorner(Value rows, unsigned corner) {
  Type integer = build.builder.getI64Type();
  ArrayRef<int64_t> places = shapeOf(coordinates[0].place);
  Value at = build.iota(places, 0, integer), weight;
  auto weigh = [&](Value factor) {
    weight = weight ? build.mul(weight, factor) : factor;
  };
  for (auto [dim, coordinate] : llvm::enumerate(coordinates)) {
    bool upper = corner >> dim & 1;
    Value pixel = upper ? build.add(coordinate.corner, 1.0) : coordinate.corner;
    double last = static_cast<double>(coordinate.size - 1);
    Value inside = clamp(pixel, 0, last);
    if (mode == "linear")
      weigh(upper ? coordinate.rest
                  : build.add(build.neg(coordinate.rest), 1.0));
    weigh(build.convert(build.compare("eq", inside, pixel),
                        elementTypeOf(pixel)));
    at = build.add(build.mul(at, build.splatLike(
                                     at, static_cast<double>(coordinate.size))),
                   build.convert(inside, integer));
  }
  Value pixels = build.gather(rows, at, 0);
  Value factor = build.broadcast(
      build.convert(weight, elementTypeOf(pixels)), shapeOf(pixels),
      llvm::to_vector(llvm::seq<int64_t>(0, places.size())));
  return build.mul(pixels, factor);
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
