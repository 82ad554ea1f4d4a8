//===- BatchNorm.cpp - train.batch_norm -----------------------------------===//
#include "dialects/Train/Ops/BatchNormSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult BatchNormOp::verify() {
  RankedTensorType type = getInput().getType();
  if (failed(verifyBatchNorm(*this, type, getChannelDim(),
                             {{"scale", getScale().getType()},
                              {"bias", getBias().getType()},
                              {"mean", getMean().getType()},
                              {"variance", getVariance().getType()}})))
    return failure();
  return verifyType(*this, "result", getResult().getType(), type);
}

LogicalResult BatchNormOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                               ArrayRef<bool> wanted,
                               MutableArrayRef<Value> operandGrads) {
  ChannelBuilder b(builder, getLoc(), getInput().getType(), getChannelDim());
  Value grad = resultGrads[0];
  Value rstd = b.rstd(getVariance(), getEpsilon().convertToDouble());
  Value factor = b.mul(getScale(), rstd);
  if (wanted[0])
    operandGrads[0] = b.mul(grad, b.spread(factor));
  Value sum, product; // sums of grad and of grad (x - mean), per channel
  if (wanted[2] || wanted[3])
    sum = b.sum(grad);
  if (wanted[1] || wanted[4])
    product = b.sum(b.mul(grad, b.centred(getInput(), getMean())));
  if (wanted[1])
    operandGrads[1] = b.mul(product, rstd);
  if (wanted[2])
    operandGrads[2] = sum;
  if (wanted[3])
    operandGrads[3] = b.scaled(b.mul(sum, factor), -1);
  if (wanted[4]) {
    // d rstd / d variance = -rstd^3 / 2
    Value slope = b.scaled(b.mul(b.mul(rstd, rstd), factor), -0.5);
    operandGrads[4] = b.mul(product, slope);
  }
  return success();
}

ShardingRule BatchNormOp::getShardingRule() {
  ShardingRule rule =
      batchNormShardingRule(*this, getInput().getType(), getChannelDim(),
                            /*othersParallel=*/true);
  rule.linearity[1] = rule.linearity[2] = Linearity::Joint;
  return rule;
}

double BatchNormOp::getFlops() {
  return 3.0 * numElements(getInput().getType());
}

bool BatchNormOp::mayShareBuffer(unsigned operand, unsigned result) {
  return operand == 0;
}

void BatchNormOp::buildLinalg(OpBuilder &builder, Location loc,
                              ValueRange inputs, ValueRange outputs) {
  ChannelLoops loops(builder, loc, inputs[0], getChannelDim());
  Value factors = loops.temporary();
  double epsilon = getEpsilon().convertToDouble();
  loops.forEachBlock([&] {
    Value scale = loops.perChannel(inputs[1]);
    Value bias = loops.perChannel(inputs[2]);
    Value mean = loops.perChannel(inputs[3]);
    Value variance = loops.perChannel(inputs[4]);
    Value factor = loops.ofTemporary(factors);
    loops.channels({scale, variance}, factor,
                   [&](OpBuilder &nested, Location at, ValueRange e) {
                     ScalarBuilder s(nested, at);
                     Value shifted =
                         s.add(e[1], s.constant(e[1].getType(), epsilon));
                     return SmallVector<Value>{s.mul(e[0], s.rsqrt(shifted))};
                   });
    loops.generic(
        {loops.image(inputs[0]), mean, factor, bias}, loops.image(outputs[0]),
        [](OpBuilder &nested, Location at, ValueRange e) {
          ScalarBuilder s(nested, at);
          Value centred = s.sub(e[0], e[1]);
          return SmallVector<Value>{s.add(s.mul(centred, e[2]), e[3])};
        });
  });
}

bool BatchNormOp::takesAnyPrecision(unsigned operand) { return operand > 0; }

} // namespace zc::train
