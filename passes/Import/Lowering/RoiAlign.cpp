//===- RoiAlign.cpp - boxes of images as images of one size ---------------===//
//
// A box is cut into bins, and every bin is the mean (or the largest) of some
// samples between the image's pixels (He et al. 2017).
//
//===----------------------------------------------------------------------===//
#include "passes/Import/Lowering/Bilinear.h"
#include "passes/Import/Lowering/Indexing.h"
#include "passes/Import/Lowering/LoweringRegistry.h"

using namespace mlir;
using namespace zc;

namespace {
class BoxSampler {
public:
  explicit BoxSampler(NodeContext &context)
      : context(context), build(context.build), image(context.operand(0)),
        boxes(context.operand(1)),
        samples(context.node.getInt("sampling_ratio", 0)),
        scale(context.getFloat("spatial_scale", 1)),
        isHalf(context.node.getString("coordinate_transformation_mode",
                                      context.node.getSinceVersion() < 16
                                          ? "output_half_pixel"
                                          : "half_pixel") == "half_pixel") {
    ArrayRef<int64_t> result = context.resultShape();
    places = {result[0], result[2], result[3], samples, samples};
  }

  LogicalResult run();

private:
  Value corner(int64_t index);
  Value readPlace(int64_t dim);
  Value isNear(Value place, int64_t size);
  Value imageRows();
  Value sample(ArrayRef<WeighedPixels> corners, bool takesLargest);

  NodeContext &context;
  TensorBuilder &build;
  Value image, boxes;
  int64_t samples; // along each side of a bin
  double scale;
  bool isHalf;
  SmallVector<int64_t> places; // [boxes, bins, bins, samples, samples]
};
} // namespace

/// x1, y1, x2 or y2 of all boxes, in pixels.
Value BoxSampler::corner(int64_t index) {
  Value all = build.reshape(build.slice(boxes, 1, index, 1), {places[0]});
  return build.line(all, scale, isHalf ? -0.5 : 0);
}

/// Where the samples lie along y (0) or x (1).
Value BoxSampler::readPlace(int64_t dim) {
  Value low = corner(1 - dim), size = build.sub(corner(3 - dim), low);
  if (!isHalf) // once, boxes had at least a pixel
    size = build.max(size, build.splatLike(size, 1));
  Type element = elementTypeOf(boxes);
  Value bin = countAlong(build, places, 1 + dim, element);
  Value inBin = build.line(countAlong(build, places, 3 + dim, element),
                           1.0 / samples, 0.5 / samples);
  Value step = build.div(size, double(places[1 + dim]));
  return build.add(
      build.broadcast(low, places, 0),
      build.mul(build.broadcast(step, places, 0), build.add(bin, inBin)));
}

/// Samples more than a pixel away from the image count nothing.
Value BoxSampler::isNear(Value place, int64_t size) {
  Value low = build.compare(Predicate::Ge, place, -1.0);
  Value high = build.compare(Predicate::Le, place, static_cast<double>(size));
  return build.convert(
      train::AndOp::create(build.builder, build.loc, low.getType(), low, high),
      elementTypeOf(place));
}

Value BoxSampler::imageRows() {
  ArrayRef<int64_t> shape = shapeOf(image);
  return build.reshape(build.transpose(image, {0, 2, 3, 1}),
                       {shape[0] * shape[2] * shape[3], shape[1]});
}

Value BoxSampler::sample(ArrayRef<WeighedPixels> corners, bool takesLargest) {
  Value result;
  for (const WeighedPixels &each : corners) {
    Value term = weigh(build, each);
    if (!result)
      result = term;
    else
      result = takesLargest ? build.max(result, term) : build.add(result, term);
  }
  return takesLargest ? build.reduce(ReduceKind::Max, result, {3, 4})
                      : build.mean(result, {3, 4});
}

LogicalResult BoxSampler::run() {
  StringRef mode = context.node.getString("mode", "avg");
  if (mode != "avg" && mode != "max")
    return context.emitError()
           << "expected mode avg or max, found '" << mode << "'";
  if (samples < 1)
    return context.emitError()
           << "sampling_ratio 0 takes as many samples as a box has pixels, "
              "which is not known before the run; expected at least 1";
  ArrayRef<int64_t> shape = shapeOf(image);
  SmallVector<Value, 2> at;
  Value counts;
  for (int64_t dim : {0, 1}) {
    Value place = readPlace(dim);
    Value near = isNear(place, shape[2 + dim]);
    counts = counts ? build.mul(counts, near) : near;
    double last = static_cast<double>(shape[2 + dim] - 1);
    at.push_back(build.min(build.max(place, build.splatLike(place, 0)),
                           build.splatLike(place, last)));
  }
  Value which = build.broadcast(
      build.convert(context.operand(2), build.builder.getI64Type()), places, 0);
  auto corners =
      findCorners(build, imageRows(), which, at[0], at[1], shape[2], shape[3]);
  for (WeighedPixels &each : corners)
    each.weight = build.mul(each.weight, counts);
  return context.set(
      build.transpose(sample(corners, mode == "max"), {0, 3, 1, 2}));
}

static LogicalResult lowerRoiAlign(NodeContext &context) {
  if (failed(context.requireFloat(0)) || failed(context.requireFloat(1)) ||
      failed(requireIndices(context, 2)))
    return failure();
  Value image = context.operand(0), boxes = context.operand(1);
  if (rankOf(image) != 4 || rankOf(boxes) != 2 || shapeOf(boxes)[1] != 4 ||
      rankOf(context.operand(2)) != 1)
    return context.emitError() << "cannot cut boxes " << boxes.getType()
                               << " out of " << image.getType();
  return BoxSampler(context).run();
}

void zc::registerRoiAlign(LoweringRegistry &registry) {
  registry.add("RoiAlign", 10, 22, lowerRoiAlign);
}
