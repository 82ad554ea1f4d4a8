//===- BatchNormSupport.cpp - the three batch_norm ops --------------------===//
#include "dialects/Train/Ops/BatchNormSupport.h"

using namespace mlir;

namespace zc::train {

/// Channels worked on at a time: their temporaries stay in the first cache.
static constexpr int64_t kChannelBlock = 256;

LogicalResult verifyBatchNorm(Operation *op, RankedTensorType input,
                              int64_t channelDim,
                              ArrayRef<std::pair<StringRef, Type>> perChannel) {
  if (input.getRank() < 2)
    return op->emitOpError()
           << "input is " << input << ", expected at least 2 dims";
  if (failed(verifyDim(op, "channel_dim", channelDim, input.getRank())))
    return failure();
  auto expected = withShape(input, input.getDimSize(channelDim));
  for (auto [name, type] : perChannel)
    if (failed(verifyTypeOrPrecision(op, name, type, expected)))
      return failure();
  return success();
}

ShardingRule batchNormShardingRule(Operation *op, RankedTensorType input,
                                   int64_t channelDim, bool othersParallel) {
  ShardingRule rule = ShardingRule::whole(op);
  SmallVector<int> imageDims(input.getRank(), ShardingRule::kWhole);
  for (int64_t dim = 0; dim < input.getRank(); ++dim)
    if (othersParallel || dim == channelDim)
      imageDims[dim] = rule.addFactor(input.getDimSize(dim));
  SmallVector<int> channelDims = {imageDims[channelDim]};
  for (auto *all : {&rule.operandDims, &rule.resultDims})
    for (auto &dims : *all)
      dims = dims.size() == 1 ? channelDims : imageDims;
  return rule;
}

//===----------------------------------------------------------------------===//
// ChannelBuilder
//===----------------------------------------------------------------------===//

Value ChannelBuilder::spread(Value perChannel) {
  return broadcast(builder, loc, perChannel, type.getShape(), channelDim);
}

Value ChannelBuilder::sum(Value elements) {
  return reduceSum(builder, loc, widen(builder, loc, elements),
                   otherDims(type.getRank(), channelDim));
}

Value ChannelBuilder::mul(Value a, Value b) {
  return MulOp::create(builder, loc, widen(builder, loc, a),
                       widen(builder, loc, b));
}

Value ChannelBuilder::scaled(Value value, double factor) {
  value = widen(builder, loc, value);
  return mul(value, splat(builder, loc, value.getType(), factor));
}

Value ChannelBuilder::rstd(Value variance, double epsilon) {
  variance = widen(builder, loc, variance);
  Value shifted = AddOp::create(
      builder, loc, variance, splat(builder, loc, variance.getType(), epsilon));
  return RsqrtOp::create(builder, loc, shifted);
}

Value ChannelBuilder::centred(Value input, Value mean) {
  return SubOp::create(builder, loc, widen(builder, loc, input),
                       spread(widen(builder, loc, mean)));
}

double ChannelBuilder::count() const {
  return static_cast<double>(type.getNumElements()) /
         static_cast<double>(type.getDimSize(channelDim));
}

//===----------------------------------------------------------------------===//
// ChannelLoops
//===----------------------------------------------------------------------===//

ChannelLoops::ChannelLoops(OpBuilder &builder, Location loc, Value image,
                           int64_t channelDim)
    : builder(builder), loc(loc), shape(shapeOf(image)),
      element(elementOf(image)), channelDim(channelDim),
      offset(builder.getIndexAttr(0)) {}

Value ChannelLoops::temporary() {
  int64_t largest = std::min(shape[channelDim], kChannelBlock);
  return buildTemporary(builder, loc, largest, element);
}

void ChannelLoops::forEachBlock(llvm::function_ref<void()> body) {
  buildBlocks(builder, loc, shape[channelDim], kChannelBlock,
              [&](OpFoldResult blockOffset, int64_t blockSize) {
                offset = blockOffset;
                size = blockSize;
                body();
              });
}

Value ChannelLoops::image(Value buffer) {
  return buildBlock(builder, loc, buffer, channelDim, offset, size);
}

Value ChannelLoops::perChannel(Value buffer) {
  return buildBlock(builder, loc, buffer, 0, offset, size);
}

Value ChannelLoops::ofTemporary(Value buffer) {
  return buildBlock(builder, loc, buffer, 0, builder.getIndexAttr(0), size);
}

void ChannelLoops::generic(ValueRange inputs, ValueRange outputs,
                           ScalarBody body) {
  // The dim that each loop runs over: in memory order if the channels come
  // last, else a channel's elements one after the other.
  int64_t rank = shape.size();
  SmallVector<int64_t> order = otherDims(rank, channelDim);
  order.insert(channelDim == rank - 1 ? order.end() : order.begin(),
               channelDim);
  SmallVector<AffineExpr> loops(rank);
  for (auto [loop, dim] : llvm::enumerate(order))
    loops[dim] = builder.getAffineDimExpr(loop);
  auto image = AffineMap::get(rank, 0, loops, builder.getContext());
  auto channel = AffineMap::get(rank, 0, loops[channelDim]);
  SmallVector<AffineMap> maps;
  for (ValueRange operands : {inputs, outputs})
    for (Value operand : operands)
      maps.push_back(shapeOf(operand).size() == 1 ? channel : image);
  buildGeneric(builder, loc, rank, maps, inputs, outputs, body);
}

void ChannelLoops::channels(ValueRange inputs, ValueRange outputs,
                            ScalarBody body) {
  buildPointwise(builder, loc, inputs, outputs, body);
}

} // namespace zc::train
