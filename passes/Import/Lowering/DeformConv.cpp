//===- DeformConv.cpp - convolution of pixels at computed places ----------===//
//
// The pixels that every window sees are sampled between those of the image (Zhu
// et al. 2019), which makes the columns of a product with the filter.
//
//===----------------------------------------------------------------------===//
#include "passes/Import/Lowering/Bilinear.h"
#include "passes/Import/Lowering/LoweringRegistry.h"
#include "passes/Import/Lowering/Windows.h"

using namespace mlir;
using namespace zc;

namespace {
class DeformedColumns {
public:
  DeformedColumns(NodeContext &context, const Windows &windows, int64_t sets)
      : context(context), build(context.build), image(context.operand(0)),
        windows(windows), sets(sets) {
    ArrayRef<int64_t> result = context.resultShape();
    places = {result[0],         sets,      windows.kernel[0],
              windows.kernel[1], result[2], result[3]};
  }

  /// [N, channels, kernel's elements, result's pixels].
  Value make();

private:
  Value imageRows();
  Value readPlace(int64_t dim);

  NodeContext &context;
  TensorBuilder &build;
  Value image;
  const Windows &windows;
  int64_t sets;                // of channels that share their offsets
  SmallVector<int64_t> places; // [N, sets, kernel, kernel, height, width]
};
} // namespace

/// Every set of channels of a pixel is a row.
Value DeformedColumns::imageRows() {
  ArrayRef<int64_t> shape = shapeOf(image);
  int64_t channels = shape[1] / sets;
  Value split =
      build.reshape(image, {shape[0], sets, channels, shape[2], shape[3]});
  return build.reshape(build.transpose(split, {0, 1, 3, 4, 2}),
                       {shape[0] * sets * shape[2] * shape[3], channels});
}

/// Where the windows' elements lie along one spatial dim, in pixels.
Value DeformedColumns::readPlace(int64_t dim) {
  Value offsets = context.operand(2);
  Type element = elementTypeOf(offsets);
  SmallVector<int64_t> shape(places);
  shape.insert(shape.begin() + 4, 2); // y, x
  Value own = build.reshape(
      build.slice(build.reshape(offsets, shape), 4, dim, 1), places);
  Value first =
      build.line(countAlong(build, places, 4 + dim, element),
                 double(windows.strides[dim]), -double(windows.low[dim]));
  Value step = build.mul(countAlong(build, places, 2 + dim, element),
                         double(windows.dilations[dim]));
  return build.add(build.add(first, step), own);
}

Value DeformedColumns::make() {
  Type integer = build.builder.getI64Type();
  Value sample = build.iota(places, 0, integer);
  Value which =
      build.add(build.mul(sample, build.splatLike(sample, double(sets))),
                build.iota(places, 1, integer));
  Value sum;
  for (const WeighedPixels &corner :
       findCorners(build, imageRows(), which, readPlace(0), readPlace(1),
                   shapeOf(image)[2], shapeOf(image)[3])) {
    Value term = weigh(build, corner);
    sum = sum ? build.add(sum, term) : term;
  }
  if (Value mask = context.operand(4))
    sum = weigh(build, {sum, build.reshape(mask, places)});
  Value columns = build.transpose(sum, {0, 1, 6, 2, 3, 4, 5});
  return build.reshape(columns, {places[0], shapeOf(image)[1],
                                 places[2] * places[3], places[4] * places[5]});
}

/// Multiplies each group's filters with its columns.
static Value multiplyColumns(TensorBuilder &build, Value filter, Value columns,
                             int64_t groups) {
  int64_t samples = shapeOf(columns)[0], pixels = shapeOf(columns)[3];
  int64_t terms = shapeOf(columns)[1] / groups * shapeOf(columns)[2];
  int64_t outputs = shapeOf(filter)[0] / groups;
  Value matrices = build.reshape(filter, {groups, outputs, terms});
  return build.matmul(
      build.broadcast(matrices, {samples, groups, outputs, terms}),
      build.reshape(columns, {samples, groups, terms, pixels}));
}

static LogicalResult checkSizes(NodeContext &context, const Windows &windows,
                                int64_t groups, int64_t sets) {
  ArrayRef<int64_t> image = shapeOf(context.operand(0));
  ArrayRef<int64_t> filter = shapeOf(context.operand(1));
  ArrayRef<int64_t> result = context.resultShape();
  int64_t taps = windows.kernel[0] * windows.kernel[1];
  if (groups < 1 || sets < 1 || filter[1] * groups != image[1] ||
      filter[0] % groups != 0 || image[1] % sets != 0)
    return context.emitError()
           << "cannot convolve " << image[1] << " channels with a "
           << context.operand(1).getType() << " in " << groups << " groups and "
           << sets << " sets of offsets";
  SmallVector<int64_t> offsets{result[0], sets * taps * 2, result[2],
                               result[3]};
  if (shapeOf(context.operand(2)) != ArrayRef(offsets))
    return context.emitError()
           << "expected two offsets for each element of every window, found "
           << context.operand(2).getType();
  return success();
}

static LogicalResult lowerDeformConv(NodeContext &context) {
  for (unsigned index : {0u, 1u, 2u})
    if (failed(context.requireFloat(index)))
      return failure();
  TensorBuilder &build = context.build;
  ArrayRef<int64_t> image = shapeOf(context.operand(0));
  ArrayRef<int64_t> filter = shapeOf(context.operand(1));
  if (image.size() != 4 || filter.size() != 4)
    return context.emitError() << "expected images of two spatial dims, found "
                               << context.operand(0).getType();
  FailureOr<Windows> windows =
      readWindows(context, image, filter.drop_front(2));
  int64_t groups = context.node.getInt("group", 1);
  int64_t sets = context.node.getInt("offset_group", 1);
  if (failed(windows) || failed(checkSizes(context, *windows, groups, sets)))
    return failure();
  Value columns = DeformedColumns(context, *windows, sets).make();
  Value result =
      build.reshape(multiplyColumns(build, context.operand(1), columns, groups),
                    context.resultShape());
  if (Value bias = context.operand(3))
    result =
        build.add(result, build.broadcast(bias, context.resultShape(), {1}));
  return context.set(result);
}

void zc::registerDeformConv(LoweringRegistry &registry) {
  registry.add("DeformConv", 19, 22, lowerDeformConv);
}
