//===- SoftmaxCrossEntropy.cpp - train.softmax_cross_entropy --------------===//
#include "dialects/Train/Ops/CrossEntropySupport.h"
#include "dialects/Train/Ops/RowSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult SoftmaxCrossEntropyOp::verify() {
  if (failed(verifyCrossEntropy(*this, getLogits().getType(),
                                getLabels().getType())))
    return failure();
  auto perSample =
      withShape(getLogits().getType(), getLabels().getType().getShape());
  if (failed(verifyType(*this, "loss", getLoss().getType(), perSample)))
    return failure();
  return verifyType(*this, "log_sum_exp", getLogSumExp().getType(), perSample);
}

LogicalResult SoftmaxCrossEntropyOp::vjp(OpBuilder &builder,
                                         ValueRange resultGrads,
                                         ArrayRef<bool> wanted,
                                         MutableArrayRef<Value> operandGrads) {
  if (!wanted[0])
    return success();
  Location loc = getLoc();
  RankedTensorType type = getLogits().getType();
  if (resultGrads[0])
    operandGrads[0] = SoftmaxCrossEntropyGradOp::create(
        builder, loc, type, getLogits(), getLabels(), getLogSumExp(),
        resultGrads[0], getIgnoreIndexAttr());
  if (!resultGrads[1])
    return success();
  // The gradient of log sum exp is softmax.
  auto overClasses = [&](Value perSample) {
    return broadcast(builder, loc, perSample, type.getShape(),
                     dimRange(0, type.getRank() - 1));
  };
  Value shifted =
      SubOp::create(builder, loc, getLogits(), overClasses(getLogSumExp()));
  Value softmax = ExpOp::create(builder, loc, shifted);
  Value term =
      MulOp::create(builder, loc, softmax, overClasses(resultGrads[1]));
  operandGrads[0] = operandGrads[0]
                        ? AddOp::create(builder, loc, operandGrads[0], term)
                        : term;
  return success();
}

ShardingRule SoftmaxCrossEntropyOp::getShardingRule() {
  return crossEntropyShardingRule(*this, getLogits().getType());
}

double SoftmaxCrossEntropyOp::getFlops() {
  // max, subtract, exp, add
  return 4.0 * numElements(getLogits().getType());
}

void SoftmaxCrossEntropyOp::buildLinalg(OpBuilder &builder, Location loc,
                                        ValueRange inputs, ValueRange outputs) {
  ArrayRef<int64_t> shape = shapeOf(inputs[0]);
  SmallVector<int64_t> samples = dimRange(0, shape.size() - 1);
  Type element = elementOf(inputs[0]);
  Value scratch = buildTemporary(builder, loc, {}, element);
  buildLoops(builder, loc, shape.drop_back(), [&](Indices at) {
    Value row = buildSlice(builder, loc, inputs[0], samples, at);
    Value label = buildLoad(builder, loc, inputs[1], at);
    auto [largest, sum] = buildRowExp(builder, loc, row, Value(), scratch);
    ScalarBuilder s(builder, loc);
    Value logSum = s.log(sum);
    OpFoldResult place = buildClampedIndex(builder, loc, label, shape.back());
    Value distance = s.sub(buildLoad(builder, loc, row, place), largest);
    Value ignored = buildIsIgnored(builder, loc, label, getIgnoreIndex());
    Value loss =
        s.select(ignored, s.constant(element, 0), s.sub(logSum, distance));
    buildStore(builder, loc, loss, outputs[0], at);
    buildStore(builder, loc, s.add(largest, logSum), outputs[1], at);
  });
}

} // namespace zc::train
