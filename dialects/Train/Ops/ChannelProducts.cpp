//===- ChannelProducts.cpp - train.channel_products -----------------------===//
#include "dialects/Train/Ops/ChannelSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult ChannelProductsOp::verify() {
  RankedTensorType type = getInput().getType();
  if (failed(verifyChannelSums(*this, type,
                               {{"sum", getSum().getType()},
                                {"product", getProduct().getType()}})) ||
      failed(verifyTypeOrPrecision(*this, "mean", getMean().getType(),
                                   withShape(type, type.getDimSize(2)))))
    return failure();
  return verifyType(*this, "grad", getGrad().getType(), type);
}

ShardingRule ChannelProductsOp::getShardingRule() {
  ShardingRule rule = channelSumsShardingRule(*this, getInput().getType());
  rule.linearity[2] = Linearity::Separate;
  return rule;
}

double ChannelProductsOp::getFlops() {
  return 4.0 * numElements(getInput().getType());
}

void ChannelProductsOp::buildLinalg(OpBuilder &builder, Location loc,
                                    ValueRange inputs, ValueRange outputs) {
  for (Value output : outputs)
    buildFill(builder, loc, output, 0);
  // Elements: input, mean, grad, sum, product.
  buildChannelLoops(builder, loc, inputs, outputs,
                    [](OpBuilder &nested, Location at, ValueRange e) {
                      ScalarBuilder s(nested, at);
                      Value centred = s.sub(e[0], e[1]);
                      return SmallVector<Value>{
                          s.add(e[3], e[2]), s.add(e[4], s.mul(e[2], centred))};
                    });
}

} // namespace zc::train
