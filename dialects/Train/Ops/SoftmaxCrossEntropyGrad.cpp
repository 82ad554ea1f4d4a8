//===- SoftmaxCrossEntropyGrad.cpp - train.softmax_cross_entropy_grad -----===//
#include "dialects/Train/Ops/CrossEntropySupport.h"
#include "dialects/Train/Ops/PartSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult SoftmaxCrossEntropyGradOp::verify() {
  RankedTensorType type = getLogits().getType();
  if (failed(verifyCrossEntropy(*this, type, getLabels().getType())))
    return failure();
  auto perSample = withShape(type, getLabels().getType().getShape());
  if (failed(verifyTypeOrPrecision(*this, "log_sum_exp",
                                   getLogSumExp().getType(), perSample)) ||
      failed(
          verifyTypeOrPrecision(*this, "grad", getGrad().getType(), perSample)))
    return failure();
  return verifyType(*this, "result", getResult().getType(), type);
}

ShardingRule SoftmaxCrossEntropyGradOp::getShardingRule() {
  ShardingRule rule = crossEntropyShardingRule(*this, getLogits().getType());
  rule.linearity[3] = Linearity::Separate;
  return rule;
}

ShardingRule SoftmaxCrossEntropyGradOp::getFinerRule() {
  return crossEntropyFinerRule(*this, getLogits().getType(),
                               FactorKind::Parallel);
}

SmallVector<Value>
SoftmaxCrossEntropyGradOp::decompose(OpBuilder &builder,
                                     ArrayRef<int64_t> parts) {
  Location loc = getLoc();
  RankedTensorType type = getLogits().getType();
  auto split =
      splitClasses(builder, loc, getLogits(), getLabels(), parts.back());
  if (!split)
    return {};
  auto [logits, labels] = *split;
  int64_t dim = type.getRank() - 1;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(labels.getType()).getShape();
  auto spread = [&](Value perSample) {
    return broadcast(builder, loc, perSample, shape, otherDims(dim + 1, {dim}));
  };
  Value counts = compareIgnored(builder, loc, getLabels(), getIgnoreIndex());
  Value grad =
      SelectOp::create(builder, loc, getGrad().getType(), counts,
                       splat(builder, loc, getGrad().getType(), 0), getGrad());
  Value result = SoftmaxCrossEntropyGradOp::create(
      builder, loc, logits.getType(), logits, labels, spread(getLogSumExp()),
      spread(grad), kIgnoreNone);
  return {reshape(builder, loc, result, type.getShape())};
}

double SoftmaxCrossEntropyGradOp::getFlops() {
  // subtract, exp, multiply
  return 3.0 * numElements(getResult().getType());
}

bool SoftmaxCrossEntropyGradOp::mayShareBuffer(unsigned operand,
                                               unsigned result) {
  return operand == 0;
}

void SoftmaxCrossEntropyGradOp::buildLinalg(OpBuilder &builder, Location loc,
                                            ValueRange inputs,
                                            ValueRange outputs) {
  ArrayRef<int64_t> shape = shapeOf(inputs[0]);
  SmallVector<int64_t> samples = dimRange(0, shape.size() - 1);
  buildLoops(builder, loc, shape.drop_back(), [&](Indices at) {
    Value row = buildSlice(builder, loc, inputs[0], samples, at);
    Value result = buildSlice(builder, loc, outputs[0], samples, at);
    Value label = buildLoad(builder, loc, inputs[1], at);
    Value logSumExp = buildLoad(builder, loc, inputs[2], at);
    Value grad = buildLoad(builder, loc, inputs[3], at);
    ScalarBuilder s(builder, loc);
    Value ignored = buildIsIgnored(builder, loc, label, getIgnoreIndex());
    grad = s.select(ignored, s.constant(grad.getType(), 0), grad);
    buildPointwise(builder, loc, row, result,
                   [&](OpBuilder &nested, Location bodyLoc, ValueRange e) {
                     ScalarBuilder s(nested, bodyLoc);
                     Value softmax = s.exp(s.sub(e[0], logSumExp));
                     return SmallVector<Value>{s.mul(softmax, grad)};
                   });
    OpFoldResult place = buildClampedIndex(builder, loc, label, shape.back());
    Value atLabel = buildLoad(builder, loc, result, place);
    Value isClass = buildIsClass(builder, loc, label, shape.back());
    Value share = s.select(isClass, grad, s.constant(grad.getType(), 0));
    buildStore(builder, loc, s.sub(atLabel, share), result, place);
  });
}

} // namespace zc::train
