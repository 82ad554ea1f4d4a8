//===- SoftmaxCrossEntropyGrad.cpp - train.softmax_cross_entropy_grad -----===//
#include "dialects/Train/Ops/CrossEntropySupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult SoftmaxCrossEntropyGradOp::verify() {
  RankedTensorType type = getLogits().getType();
  if (failed(verifyCrossEntropy(*this, type, getLabels().getType())))
    return failure();
  auto perSample = withShape(type, getLabels().getType().getShape());
  if (failed(verifyType(*this, "log_sum_exp", getLogSumExp().getType(),
                        perSample)) ||
      failed(verifyType(*this, "grad", getGrad().getType(), perSample)))
    return failure();
  return verifyType(*this, "result", getResult().getType(), type);
}

ShardingRule SoftmaxCrossEntropyGradOp::getShardingRule() {
  ShardingRule rule = crossEntropyShardingRule(*this, getLogits().getType());
  rule.linearity[3] = Linearity::Separate;
  return rule;
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
    buildStore(builder, loc, s.sub(atLabel, grad), result, place);
  });
}

} // namespace zc::train
