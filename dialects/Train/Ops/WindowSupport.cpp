//===- WindowSupport.cpp - windows that slide over images -----------------===//
#include "dialects/Train/Ops/WindowSupport.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"

using namespace mlir;

namespace zc::train {

SmallVector<int64_t> Window::spatialDims() const {
  int64_t first = channelsLast ? 1 : 2;
  return dimRange(first, first + rank());
}

int64_t Window::numElements() const {
  return ShapedType::getNumElements(sizes);
}

SmallVector<int64_t> Window::imageShape(int64_t batch, int64_t channels,
                                        ArrayRef<int64_t> spatial) const {
  SmallVector<int64_t> shape = {batch};
  llvm::append_range(shape, spatial);
  shape.insert(channelsLast ? shape.end() : shape.begin() + 1, channels);
  return shape;
}

static LogicalResult verifyWindowList(Operation *op, StringRef name,
                                      ArrayRef<int64_t> list, int64_t rank,
                                      int64_t least) {
  if (static_cast<int64_t>(list.size()) != rank)
    return op->emitOpError()
           << name << " has " << list.size() << " entries, but the image has "
           << rank << " spatial dims";
  for (int64_t entry : list)
    if (entry < least)
      return op->emitOpError() << name << " has an entry of " << entry
                               << ", expected at least " << least;
  return success();
}

FailureOr<SmallVector<int64_t>>
verifyWindow(Operation *op, const Window &window, RankedTensorType image) {
  int64_t rank = image.getRank() - 2;
  if (rank < 1 || rank > 3)
    return op->emitOpError()
           << "image is " << image << ", expected 1 to 3 spatial dims";
  if (failed(verifyWindowList(op, "window", window.sizes, rank, 1)) ||
      failed(verifyWindowList(op, "strides", window.strides, rank, 1)) ||
      failed(verifyWindowList(op, "dilations", window.dilations, rank, 1)) ||
      failed(verifyWindowList(op, "pads_low", window.padsLow, rank, 0)) ||
      failed(verifyWindowList(op, "pads_high", window.padsHigh, rank, 0)))
    return failure();
  SmallVector<int64_t> places;
  for (auto [i, dim] : llvm::enumerate(window.spatialDims())) {
    int64_t padded =
        image.getDimSize(dim) + window.padsLow[i] + window.padsHigh[i];
    int64_t extent = window.dilations[i] * (window.sizes[i] - 1) + 1;
    if (extent > padded)
      return op->emitOpError()
             << "window spans " << extent << " elements of dim " << dim
             << ", but the image has " << padded << " with its padding";
    places.push_back((padded - extent) / window.strides[i] + 1);
  }
  return places;
}

// Moves `builder` into a loop and gives its induction variable.
static OpFoldResult enterLoop(OpBuilder &builder, Location loc,
                              OpFoldResult first, OpFoldResult past) {
  auto loop =
      scf::ForOp::create(builder, loc, toIndexValue(builder, loc, first),
                         toIndexValue(builder, loc, past),
                         arith::ConstantIndexOp::create(builder, loc, 1));
  builder.setInsertionPointToStart(loop.getBody());
  return loop.getInductionVar();
}

namespace {
/// One spatial dim of a window at one place.
struct WindowDim {
  OpBuilder &builder;
  Location loc;
  OpFoldResult place;
  int64_t size, stride, dilation, pad, imageSize, numPlaces;

  /// The image index of the window's first element.
  AffineExpr start() { return builder.getAffineDimExpr(0) * stride - pad; }

  /// The first element of the window that lies on the image.
  OpFoldResult begin() {
    if (pad == 0)
      return builder.getIndexAttr(0);
    AffineExpr first = (-start()).ceilDiv(dilation);
    auto map = AffineMap::get(1, 0, {first, builder.getAffineConstantExpr(0)},
                              builder.getContext());
    return affine::makeComposedFoldedAffineMax(builder, loc, map, place);
  }

  /// One past the last element that does.
  OpFoldResult end() {
    int64_t last = (numPlaces - 1) * stride - pad + (size - 1) * dilation;
    if (last < imageSize)
      return builder.getIndexAttr(size);
    AffineExpr past = (builder.getAffineConstantExpr(imageSize - 1) - start())
                          .floorDiv(dilation) +
                      1;
    auto map = AffineMap::get(1, 0, {past, builder.getAffineConstantExpr(size)},
                              builder.getContext());
    return affine::makeComposedFoldedAffineMin(builder, loc, map, place);
  }

  OpFoldResult imageIndex(OpFoldResult element) {
    AffineExpr index = start() + builder.getAffineDimExpr(1) * dilation;
    return affine::makeComposedFoldedAffineApply(builder, loc, index,
                                                 {place, element});
  }

  /// Enters the loop over the elements, unless there is just one.
  OpFoldResult enter() {
    OpFoldResult first = begin(), past = end();
    if (size == 1 && isConstantIntValue(first, 0) &&
        isConstantIntValue(past, 1))
      return first;
    return enterLoop(builder, loc, first, past);
  }
};
} // namespace

static WindowDim windowDim(OpBuilder &builder, Location loc,
                           const Window &window, int64_t dim,
                           ArrayRef<int64_t> imageSizes,
                           ArrayRef<int64_t> numPlaces, Indices place) {
  return {builder,
          loc,
          place[dim],
          window.sizes[dim],
          window.strides[dim],
          window.dilations[dim],
          window.padsLow[dim],
          imageSizes[dim],
          numPlaces[dim]};
}

void buildWindowLoops(OpBuilder &builder, Location loc, const Window &window,
                      ArrayRef<int64_t> imageSizes, ArrayRef<int64_t> numPlaces,
                      Indices place,
                      llvm::function_ref<void(Indices, Indices)> body) {
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<OpFoldResult> inWindow, inImage;
  for (int64_t i = 0; i < window.rank(); ++i) {
    WindowDim dim =
        windowDim(builder, loc, window, i, imageSizes, numPlaces, place);
    inWindow.push_back(dim.enter());
    inImage.push_back(dim.imageIndex(inWindow.back()));
  }
  body(inWindow, inImage);
}

Value buildWindowCount(OpBuilder &builder, Location loc, const Window &window,
                       ArrayRef<int64_t> imageSizes,
                       ArrayRef<int64_t> numPlaces, Indices place) {
  AffineExpr difference =
      builder.getAffineDimExpr(1) - builder.getAffineDimExpr(0);
  Value count = arith::ConstantIndexOp::create(builder, loc, 1);
  for (int64_t i = 0; i < window.rank(); ++i) {
    WindowDim dim =
        windowDim(builder, loc, window, i, imageSizes, numPlaces, place);
    OpFoldResult own = affine::makeComposedFoldedAffineApply(
        builder, loc, difference, {dim.begin(), dim.end()});
    count = builder.createOrFold<arith::MulIOp>(
        loc, count, toIndexValue(builder, loc, own));
  }
  return count;
}

void buildCoveringLoops(OpBuilder &builder, Location loc, const Window &window,
                        ArrayRef<int64_t> numPlaces, Indices element,
                        llvm::function_ref<void(Indices)> body) {
  OpBuilder::InsertionGuard guard(builder);
  MLIRContext *context = builder.getContext();
  SmallVector<OpFoldResult> place;
  for (int64_t i = 0; i < window.rank(); ++i) {
    AffineExpr padded = builder.getAffineDimExpr(0) + window.padsLow[i];
    AffineExpr first =
        (padded - (window.sizes[i] - 1)).ceilDiv(window.strides[i]);
    AffineExpr past = padded.floorDiv(window.strides[i]) + 1;
    auto from = AffineMap::get(1, 0, {first, getAffineConstantExpr(0, context)},
                               context);
    auto to = AffineMap::get(
        1, 0, {past, getAffineConstantExpr(numPlaces[i], context)}, context);
    place.push_back(enterLoop(
        builder, loc,
        affine::makeComposedFoldedAffineMax(builder, loc, from, element[i]),
        affine::makeComposedFoldedAffineMin(builder, loc, to, element[i])));
  }
  body(place);
}

} // namespace zc::train
