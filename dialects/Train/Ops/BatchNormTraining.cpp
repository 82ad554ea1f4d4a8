//===- BatchNormTraining.cpp - train.batch_norm_training ------------------===//
#include "dialects/Train/Ops/BatchNormSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult BatchNormTrainingOp::verify() {
  RankedTensorType type = getInput().getType();
  if (failed(verifyBatchNorm(*this, type, getChannelDim(),
                             {{"scale", getScale().getType()},
                              {"bias", getBias().getType()},
                              {"mean", getMean().getType()},
                              {"variance", getVariance().getType()}})))
    return failure();
  return verifyType(*this, "result", getResult().getType(), type);
}

LogicalResult BatchNormTrainingOp::vjp(OpBuilder &builder,
                                       ValueRange resultGrads,
                                       ArrayRef<bool> wanted,
                                       MutableArrayRef<Value> operandGrads) {
  RankedTensorType type = getInput().getType();
  ChannelBuilder b(builder, getLoc(), type, getChannelDim());
  if (Value grad = resultGrads[0]) {
    Type channels = withComputeType(getScale().getType());
    auto gradOp = BatchNormGradOp::create(
        builder, getLoc(), TypeRange{type, channels, channels}, getInput(),
        getScale(), getMean(), getVariance(), grad, getChannelDimAttr(),
        getEpsilonAttr());
    for (unsigned operand = 0; operand < 3; ++operand)
      if (wanted[operand])
        operandGrads[operand] = gradOp->getResult(operand);
  }
  if (!wanted[0])
    return success();
  auto addToInput = [&](Value term) {
    Value &sum = operandGrads[0];
    term = narrow(builder, getLoc(), term, type);
    sum = sum ? AddOp::create(builder, getLoc(), sum, term) : term;
  };
  // The mean's gradient is 1/n, the variance's 2 (x - mean)/n.
  if (Value grad = resultGrads[1])
    addToInput(b.spread(b.scaled(grad, 1 / b.count())));
  if (Value grad = resultGrads[2])
    addToInput(b.mul(b.spread(b.scaled(grad, 2 / b.count())),
                     b.centred(getInput(), getMean())));
  return success();
}

ShardingRule BatchNormTrainingOp::getShardingRule() {
  // Statistics are those of the whole batch: only channels may be split.
  return batchNormShardingRule(*this, getInput().getType(), getChannelDim(),
                               /*othersParallel=*/false);
}

SmallVector<Value> BatchNormTrainingOp::decompose(OpBuilder &builder,
                                                  ArrayRef<int64_t>) {
  ChannelBuilder b(builder, getLoc(), getInput().getType(), getChannelDim());
  Value mean = b.scaled(b.sum(getInput()), 1 / b.count());
  Value centred = b.centred(getInput(), mean);
  Value variance = b.scaled(b.sum(b.mul(centred, centred)), 1 / b.count());
  Value result = BatchNormOp::create(
      builder, getLoc(), getResult().getType(), getInput(), getScale(),
      getBias(), mean, variance, getChannelDimAttr(), getEpsilonAttr(),
      /*momentum=*/nullptr, /*unbiased=*/nullptr);
  return {result, narrow(builder, getLoc(), mean, getMean().getType()),
          narrow(builder, getLoc(), variance, getVariance().getType())};
}

double BatchNormTrainingOp::getFlops() {
  // mean 1, variance 3, result 3
  return 7.0 * numElements(getInput().getType());
}

bool BatchNormTrainingOp::mayShareBuffer(unsigned operand, unsigned result) {
  return operand == 0 && result == 0;
}

void BatchNormTrainingOp::buildLinalg(OpBuilder &builder, Location loc,
                                      ValueRange inputs, ValueRange outputs) {
  ChannelLoops loops(builder, loc, inputs[0], getChannelDim());
  Value means = loops.temporary();
  Value sums = loops.temporary();
  double epsilon = getEpsilon().convertToDouble();
  ArrayRef<int64_t> shape = shapeOf(inputs[0]);
  double count = static_cast<double>(ShapedType::getNumElements(shape)) /
                 static_cast<double>(shape[getChannelDim()]);
  // sum / n
  auto toMean = [&](OpBuilder &nested, Location at, ValueRange e) {
    ScalarBuilder s(nested, at);
    return SmallVector<Value>{s.div(e[0], s.constant(e[0].getType(), count))};
  };
  loops.forEachBlock([&] {
    Value x = loops.image(inputs[0]);
    Value mean = loops.ofTemporary(means);
    Value sum = loops.ofTemporary(sums);
    Value variance = loops.perChannel(outputs[2]);
    buildFill(builder, loc, sum, 0);
    loops.generic(x, sum, [](OpBuilder &nested, Location at, ValueRange e) {
      return SmallVector<Value>{ScalarBuilder(nested, at).add(e[1], e[0])};
    });
    loops.channels(sum, mean, toMean);
    buildCopy(builder, loc, mean, loops.perChannel(outputs[1]));
    buildFill(builder, loc, sum, 0);
    loops.generic(
        {x, mean}, sum, [](OpBuilder &nested, Location at, ValueRange e) {
          ScalarBuilder s(nested, at);
          Value centred = s.sub(e[0], e[1]);
          return SmallVector<Value>{s.add(e[2], s.mul(centred, centred))};
        });
    loops.channels(sum, variance, toMean);
    // From here on the sums hold each channel's factor: scale rstd.
    loops.channels({loops.perChannel(inputs[1]), variance}, sum,
                   [&](OpBuilder &nested, Location at, ValueRange e) {
                     ScalarBuilder s(nested, at);
                     Value shifted =
                         s.add(e[1], s.constant(e[1].getType(), epsilon));
                     return SmallVector<Value>{s.mul(e[0], s.rsqrt(shifted))};
                   });
    loops.generic(
        {x, mean, sum, loops.perChannel(inputs[2])}, loops.image(outputs[0]),
        [](OpBuilder &nested, Location at, ValueRange e) {
          ScalarBuilder s(nested, at);
          Value centred = s.sub(e[0], e[1]);
          return SmallVector<Value>{s.add(s.mul(centred, e[2]), e[3])};
        });
  });
}

bool BatchNormTrainingOp::takesAnyPrecision(unsigned operand) {
  return operand > 0;
}

bool BatchNormTrainingOp::isStatistic(unsigned result) { return result > 0; }

} // namespace zc::train
