//===- ConvSupport.cpp - conv and its two gradients -----------------------===//
#include "dialects/Train/Ops/ConvSupport.h"

#include "dialects/Train/Winograd.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace zc::train {

bool mayUseWinograd(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<ConvOp, ConvInputGradOp, ConvFilterGradOp>(
          [](auto convolution) { return convolution.getWinograd(); })
      .Default(false);
}

void setWinograd(Operation *op, bool allowed) {
  llvm::TypeSwitch<Operation *>(op)
      .Case<ConvOp, ConvInputGradOp, ConvFilterGradOp>(
          [&](auto convolution) { convolution.setWinograd(allowed); });
}

LogicalResult verifyConvolution(Operation *op, const Window &window,
                                int64_t groups, ConvTypes types,
                                StringRef outputName) {
  if (types.filter.getRank() != types.image.getRank())
    return op->emitOpError()
           << "filter is " << types.filter << ", but the image " << types.image
           << " has " << types.image.getRank() << " dims";
  FailureOr<SmallVector<int64_t>> places =
      verifyWindow(op, window, types.image);
  if (failed(places))
    return failure();
  int64_t channels = types.image.getDimSize(window.channelDim());
  int64_t outputs = types.filter.getDimSize(0);
  if (groups < 1 || channels % groups != 0 || outputs % groups != 0)
    return op->emitOpError()
           << "groups is " << groups << ", which does not divide the "
           << channels << " channels of the image and the " << outputs
           << " of the output";
  if (types.filter.getDimSize(1) * groups != channels)
    return op->emitOpError()
           << "filter is " << types.filter
           << ", expected dim 1 to be the image's " << channels
           << " channels / " << groups << " groups";
  if (types.filter.getElementType() != types.image.getElementType())
    return op->emitOpError() << "filter is " << types.filter
                             << ", expected the element type of the image, "
                             << types.image.getElementType();
  SmallVector<int64_t> expected =
      window.imageShape(types.image.getDimSize(0), outputs, *places);
  return verifyType(op, outputName, types.output,
                    withShape(types.image, expected));
}

static bool isPointwise(const Window &window, size_t dim) {
  return window.sizes[dim] == 1 && window.strides[dim] == 1 &&
         window.padsLow[dim] == 0 && window.padsHigh[dim] == 0;
}

ShardingRule convShardingRule(const Window &window, int64_t groups,
                              ConvTypes types, ConvTensor first,
                              ConvTensor second, ConvTensor result) {
  ShardingRule rule;
  constexpr int whole = ShardingRule::kWhole;
  int64_t channels = types.image.getDimSize(window.channelDim());
  int64_t outputs = types.filter.getDimSize(0);
  auto add = [&](int64_t size, ConvTensor without) {
    return rule.addFactor(size, result == without ? FactorKind::Sum
                                                  : FactorKind::Parallel);
  };
  int batch = add(types.image.getDimSize(0), ConvTensor::Filter);
  int channel = whole, filterChannel = whole, output = whole;
  if (groups == 1) {
    channel = filterChannel = add(channels, ConvTensor::Output);
    output = add(outputs, ConvTensor::Image);
  } else {
    channel = output = rule.addFactor(groups);
  }
  // A window of one place computes each place from itself alone.
  SmallVector<int> places;
  for (auto [i, dim] : llvm::enumerate(window.spatialDims()))
    places.push_back(isPointwise(window, i)
                         ? add(types.image.getDimSize(dim), ConvTensor::Filter)
                         : whole);
  auto dimsOf = [&](ConvTensor tensor) {
    SmallVector<int> dims(types.image.getRank(), whole);
    if (tensor == ConvTensor::Filter) {
      dims[0] = output;
      dims[1] = filterChannel;
    } else {
      dims[0] = batch;
      dims[window.channelDim()] =
          tensor == ConvTensor::Image ? channel : output;
      for (auto [dim, place] : llvm::zip(window.spatialDims(), places))
        dims[dim] = place;
    }
    return dims;
  };
  rule.operandDims = {dimsOf(first), dimsOf(second)};
  rule.resultDims = {dimsOf(result)};
  rule.linearity.assign(2, Linearity::Separate);
  return rule;
}

int64_t groupsOfPart(const Window &window, ConvTypes part) {
  return part.image.getDimSize(window.channelDim()) / part.filter.getDimSize(1);
}

double convFlops(ConvTypes types) {
  auto perOutput = static_cast<double>(types.filter.getNumElements()) /
                   static_cast<double>(types.filter.getDimSize(0));
  return 2.0 * static_cast<double>(types.output.getNumElements()) * perOutput;
}

void buildConvLoops(OpBuilder &builder, Location loc, const Window &window,
                    Value image, Value filter, Value output,
                    llvm::function_ref<void(Value, Value, Value)> body) {
  SmallVector<int64_t> spatial = window.spatialDims();
  SmallVector<int64_t> imageSizes = pick(shapeOf(image), spatial);
  SmallVector<int64_t> numPlaces = pick(shapeOf(output), spatial);
  SmallVector<int64_t> sliced = {0};
  llvm::append_range(sliced, spatial);
  // From the buffers: a block of the channels may be all there is.
  int64_t groupChannels = shapeOf(filter)[1];
  int64_t groups = shapeOf(image)[window.channelDim()] / groupChannels;
  int64_t groupOutputs = shapeOf(filter)[0] / groups;
  SmallVector<int64_t> sizes = {shapeOf(image)[0], groups};
  llvm::append_range(sizes, numPlaces);
  buildLoops(builder, loc, sizes, [&](Indices indices) {
    OpFoldResult sample = indices[0], group = indices[1];
    Indices place = indices.drop_front(2);
    auto groupBlock = [&](Value row, int64_t size) {
      OpFoldResult offset = affine::makeComposedFoldedAffineApply(
          builder, loc, builder.getAffineDimExpr(0) * size, group);
      return buildBlock(builder, loc, row, 0, offset, size);
    };
    auto rowOf = [&](Value buffer, Indices at, int64_t size) {
      SmallVector<OpFoldResult> all = {sample};
      llvm::append_range(all, at);
      return groupBlock(buildSlice(builder, loc, buffer, sliced, all), size);
    };
    Value outputRow = rowOf(output, place, groupOutputs);
    Value filterGroup = groupBlock(filter, groupOutputs);
    buildWindowLoops(builder, loc, window, imageSizes, numPlaces, place,
                     [&](Indices inWindow, Indices inImage) {
                       Value filterBlock =
                           buildSlice(builder, loc, filterGroup,
                                      dimRange(2, 2 + window.rank()), inWindow);
                       body(rowOf(image, inImage, groupChannels), filterBlock,
                            outputRow);
                     });
  });
}

void buildConvProduct(OpBuilder &builder, Location loc, Value a,
                      ConvTensor aTensor, Value b, ConvTensor bTensor,
                      Value target, ConvTensor targetTensor) {
  AffineExpr output = builder.getAffineDimExpr(0);
  AffineExpr channel = builder.getAffineDimExpr(1);
  auto mapOf = [&](ConvTensor tensor) {
    SmallVector<AffineExpr> results;
    if (tensor != ConvTensor::Image)
      results.push_back(output);
    if (tensor != ConvTensor::Output)
      results.push_back(channel);
    return AffineMap::get(2, 0, results, builder.getContext());
  };
  buildGeneric(builder, loc, 2,
               {mapOf(aTensor), mapOf(bTensor), mapOf(targetTensor)}, {a, b},
               target, [](OpBuilder &nested, Location at, ValueRange e) {
                 ScalarBuilder s(nested, at);
                 return SmallVector<Value>{s.add(e[2], s.mul(e[0], e[1]))};
               });
}

} // namespace zc::train
