//===- PoolSupport.cpp - poolings and their gradients ---------------------===//
#include "dialects/Train/Ops/PoolSupport.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"

using namespace mlir;

namespace zc::train {

LogicalResult verifyPool(Operation *op, const Window &window,
                         RankedTensorType image, StringRef what, Type pooled) {
  FailureOr<SmallVector<int64_t>> places = verifyWindow(op, window, image);
  if (failed(places))
    return failure();
  SmallVector<int64_t> expected = window.imageShape(
      image.getDimSize(0), image.getDimSize(window.channelDim()), *places);
  return verifyType(op, what, pooled, withShape(image, expected));
}

LogicalResult verifyAverage(Operation *op, const Window &window,
                            RankedTensorType image, StringRef what,
                            Type pooled) {
  if (failed(verifyPool(op, window, image, what, pooled)))
    return failure();
  for (auto [i, dim] : llvm::enumerate(window.spatialDims())) {
    int64_t places = cast<ShapedType>(pooled).getDimSize(dim);
    int64_t last = (places - 1) * window.strides[i] - window.padsLow[i];
    if (window.padsLow[i] >= window.sizes[i] || last >= image.getDimSize(dim))
      return op->emitOpError()
             << "has a window of dim " << dim
             << " in the padding alone, expected every window to have an "
                "element of the image";
  }
  return success();
}

RankedTensorType placesType(const Window &window, RankedTensorType pooled) {
  int64_t count = window.numElements();
  unsigned bits = count <= 127 ? 8 : count <= 32767 ? 16 : 32;
  return withElementType(pooled, IntegerType::get(pooled.getContext(), bits));
}

LogicalResult verifyPlaces(Operation *op, const Window &window, Type places,
                           RankedTensorType pooled) {
  return verifyType(op, "places", places, placesType(window, pooled));
}

ShardingRule poolShardingRule(Operation *op, const Window &window,
                              RankedTensorType image) {
  ShardingRule rule = ShardingRule::whole(op);
  for (int64_t dim : {int64_t(0), window.channelDim()}) {
    int factor = rule.addFactor(image.getDimSize(dim));
    for (auto *all : {&rule.operandDims, &rule.resultDims})
      for (auto &dims : *all)
        dims[dim] = factor;
  }
  return rule;
}

PoolLoops::PoolLoops(OpBuilder &builder, Location loc, const Window &window,
                     Value image, Value pooled)
    : builder(builder), loc(loc), window(window), imageShape(shapeOf(image)),
      pooledShape(shapeOf(pooled)) {
  outer.push_back(0);
  if (!window.channelsLast)
    outer.push_back(window.channelDim());
  sliced = outer;
  llvm::append_range(sliced, window.spatialDims());
}

SmallVector<int64_t> PoolLoops::rowShape() const {
  return pick(pooledShape, otherDims(pooledShape.size(), sliced));
}

void PoolLoops::forEachPlace(llvm::function_ref<void()> body) {
  buildLoops(builder, loc, pick(pooledShape, sliced), [&](Indices indices) {
    place = llvm::to_vector(indices);
    body();
  });
}

void PoolLoops::forEachElement(llvm::function_ref<void()> body) {
  SmallVector<int64_t> spatial = window.spatialDims();
  buildWindowLoops(builder, loc, window, pick(imageShape, spatial),
                   pick(pooledShape, spatial),
                   Indices(place).drop_front(outer.size()),
                   [&](Indices atElement, Indices inImage) {
                     inWindow = llvm::to_vector(atElement);
                     element = withOuterOf(place, inImage);
                     body();
                   });
}

void PoolLoops::forEachImageElement(llvm::function_ref<void()> body) {
  buildLoops(builder, loc, pick(imageShape, sliced), [&](Indices indices) {
    element = llvm::to_vector(indices);
    body();
  });
}

void PoolLoops::forEachCoveringPlace(llvm::function_ref<void()> body) {
  buildCoveringLoops(
      builder, loc, window, pick(pooledShape, window.spatialDims()),
      Indices(element).drop_front(outer.size()), [&](Indices covering) {
        place = withOuterOf(element, covering);
        body();
      });
}

SmallVector<OpFoldResult> PoolLoops::withOuterOf(Indices at,
                                                 Indices indices) const {
  SmallVector<OpFoldResult> all(at.take_front(outer.size()));
  llvm::append_range(all, indices);
  return all;
}

Value PoolLoops::pooledRow(Value buffer) {
  return buildSlice(builder, loc, buffer, sliced, place);
}

Value PoolLoops::imageRow(Value buffer) {
  return buildSlice(builder, loc, buffer, sliced, element);
}

Value PoolLoops::averageDivisor(Type type, bool countIncludePad) {
  ScalarBuilder s(builder, loc);
  if (countIncludePad)
    return s.constant(type, window.numElements());
  SmallVector<int64_t> spatial = window.spatialDims();
  Value count = buildWindowCount(
      builder, loc, window, pick(imageShape, spatial),
      pick(pooledShape, spatial), Indices(place).drop_front(outer.size()));
  if (auto known = getConstantIntValue(count))
    return s.constant(type, *known);
  return s.toFloat(type, count);
}

Value PoolLoops::elementIndex(Type type) {
  AffineExpr index = builder.getAffineConstantExpr(0);
  for (auto [dim, size] : llvm::enumerate(window.sizes))
    index = index * size + builder.getAffineDimExpr(dim);
  OpFoldResult folded =
      affine::makeComposedFoldedAffineApply(builder, loc, index, inWindow);
  return arith::IndexCastOp::create(builder, loc, type,
                                    toIndexValue(builder, loc, folded));
}

} // namespace zc::train
