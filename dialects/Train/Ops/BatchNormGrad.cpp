//===- BatchNormGrad.cpp - train.batch_norm_grad --------------------------===//
#include "dialects/Train/Ops/BatchNormSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult BatchNormGradOp::verify() {
  RankedTensorType type = getInput().getType();
  if (failed(verifyBatchNorm(*this, type, getChannelDim(),
                             {{"scale", getScale().getType()},
                              {"mean", getMean().getType()},
                              {"variance", getVariance().getType()},
                              {"scale_grad", getScaleGrad().getType()},
                              {"bias_grad", getBiasGrad().getType()}})) ||
      failed(verifyType(*this, "grad", getGrad().getType(), type)))
    return failure();
  return verifyType(*this, "result", getResult().getType(), type);
}

ShardingRule BatchNormGradOp::getShardingRule() {
  ShardingRule rule =
      batchNormShardingRule(*this, getInput().getType(), getChannelDim(),
                            /*othersParallel=*/false);
  rule.linearity[4] = Linearity::Separate;
  return rule;
}

SmallVector<Value> BatchNormGradOp::decompose(OpBuilder &builder,
                                              ArrayRef<int64_t>) {
  // The same formula as the linalg form below.
  Location loc = getLoc();
  ChannelBuilder b(builder, loc, getInput().getType(), getChannelDim());
  Value centred = b.centred(getInput(), getMean());
  Value sum = b.sum(getGrad()), product = b.sum(b.mul(getGrad(), centred));
  Value rstd = b.rstd(getVariance(), getEpsilon().convertToDouble());
  Value slope = b.scaled(b.mul(b.mul(product, rstd), rstd), 1 / b.count());
  Value rest = SubOp::create(builder, loc, widen(builder, loc, getGrad()),
                             b.spread(b.scaled(sum, 1 / b.count())));
  rest = SubOp::create(builder, loc, rest, b.mul(centred, b.spread(slope)));
  Value result = b.mul(rest, b.spread(b.mul(getScale(), rstd)));
  // Sum again for the parameters' gradients: `sum` and `product` are needed at
  // once on every rank, these only by the optimizer.
  Value biasGrad = b.sum(getGrad());
  Value scaleGrad = b.mul(b.sum(b.mul(getGrad(), centred)), rstd);
  return {narrow(builder, loc, result, getResult().getType()),
          narrow(builder, loc, scaleGrad, getScaleGrad().getType()),
          narrow(builder, loc, biasGrad, getBiasGrad().getType())};
}

double BatchNormGradOp::getFlops() {
  // two sums 4, result 6
  return 10.0 * numElements(getInput().getType());
}

bool BatchNormGradOp::mayShareBuffer(unsigned operand, unsigned result) {
  // Each channel is summed before its elements are overwritten one by one.
  return operand == 4 && result == 0;
}

namespace {
/// Scalars of batch_norm_grad.
struct BatchNormGradBody {
  double epsilon;
  double count;

  Value rstd(ScalarBuilder &s, Value variance) const {
    return s.rsqrt(s.add(variance, s.constant(variance.getType(), epsilon)));
  }
  Value over(ScalarBuilder &s, Value sum) const {
    return s.mul(sum, s.constant(sum.getType(), 1 / count));
  }
};
} // namespace

void BatchNormGradOp::buildLinalg(OpBuilder &builder, Location loc,
                                  ValueRange inputs, ValueRange outputs) {
  // With c = x - mean, sums per channel S = sum(grad) and P = sum(grad c):
  // bias_grad = S, scale_grad = P rstd,
  // result = scale rstd (grad - S/n - c rstd^2 P/n).
  ChannelLoops loops(builder, loc, inputs[0], getChannelDim());
  Value sums = loops.temporary(), products = loops.temporary(),
        factors = loops.temporary();
  ArrayRef<int64_t> shape = shapeOf(inputs[0]);
  BatchNormGradBody body{
      getEpsilon().convertToDouble(),
      static_cast<double>(ShapedType::getNumElements(shape)) /
          static_cast<double>(shape[getChannelDim()])};
  loops.forEachBlock([&] {
    Value x = loops.image(inputs[0]), grad = loops.image(inputs[4]);
    Value scale = loops.perChannel(inputs[1]);
    Value mean = loops.perChannel(inputs[2]);
    Value variance = loops.perChannel(inputs[3]);
    Value sum = loops.ofTemporary(sums), product = loops.ofTemporary(products),
          factor = loops.ofTemporary(factors);
    buildFill(builder, loc, sum, 0);
    buildFill(builder, loc, product, 0);
    loops.generic({x, grad, mean}, {sum, product},
                  [](OpBuilder &nested, Location at, ValueRange e) {
                    ScalarBuilder s(nested, at);
                    Value centred = s.sub(e[0], e[2]);
                    return SmallVector<Value>{
                        s.add(e[3], e[1]), s.add(e[4], s.mul(e[1], centred))};
                  });
    // The sums turn into their means, the products' times rstd^2.
    loops.channels(
        {scale, variance},
        {loops.perChannel(outputs[1]), loops.perChannel(outputs[2]), sum,
         product, factor},
        [&](OpBuilder &nested, Location at, ValueRange e) {
          ScalarBuilder s(nested, at);
          Value rstd = body.rstd(s, e[1]), sum = e[4], product = e[5];
          Value scaleGrad = s.mul(product, rstd);
          return SmallVector<Value>{scaleGrad, sum, body.over(s, sum),
                                    body.over(s, s.mul(scaleGrad, rstd)),
                                    s.mul(e[0], rstd)};
        });
    loops.generic({x, grad, mean, sum, product, factor},
                  loops.image(outputs[0]),
                  [](OpBuilder &nested, Location at, ValueRange e) {
                    ScalarBuilder s(nested, at);
                    Value centred = s.sub(e[0], e[2]);
                    Value rest = s.sub(s.sub(e[1], e[3]), s.mul(centred, e[4]));
                    return SmallVector<Value>{s.mul(rest, e[5])};
                  });
  });
}

} // namespace zc::train
