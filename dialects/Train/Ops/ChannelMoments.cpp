//===- ChannelMoments.cpp - train.channel_moments -------------------------===//
#include "dialects/Train/Ops/ChannelSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult ChannelMomentsOp::verify() {
  return verifyChannelSums(*this, getInput().getType(),
                           {{"mean", getMean().getType()},
                            {"deviations", getDeviations().getType()}});
}

ShardingRule ChannelMomentsOp::getShardingRule() {
  return channelSumsShardingRule(*this, getInput().getType());
}

double ChannelMomentsOp::getFlops() {
  // mean 1, deviations 3
  return 4.0 * numElements(getInput().getType());
}

void ChannelMomentsOp::buildLinalg(OpBuilder &builder, Location loc,
                                   ValueRange inputs, ValueRange outputs) {
  Value x = inputs[0], mean = outputs[0], deviations = outputs[1];
  double share = 1.0 / static_cast<double>(shapeOf(x)[1]);
  buildFill(builder, loc, mean, 0);
  buildChannelLoops(builder, loc, x, mean,
                    [](OpBuilder &nested, Location at, ValueRange e) {
                      ScalarBuilder s(nested, at);
                      return SmallVector<Value>{s.add(e[1], e[0])};
                    });
  // The sums turn into means.
  buildPointwise(builder, loc, {}, mean,
                 [&](OpBuilder &nested, Location at, ValueRange e) {
                   ScalarBuilder s(nested, at);
                   return SmallVector<Value>{
                       s.mul(e[0], s.constant(e[0].getType(), share))};
                 });
  buildFill(builder, loc, deviations, 0);
  buildChannelLoops(builder, loc, {x, mean}, deviations,
                    [](OpBuilder &nested, Location at, ValueRange e) {
                      ScalarBuilder s(nested, at);
                      Value centred = s.sub(e[0], e[1]);
                      return SmallVector<Value>{
                          s.add(e[2], s.mul(centred, centred))};
                    });
}

} // namespace zc::train
