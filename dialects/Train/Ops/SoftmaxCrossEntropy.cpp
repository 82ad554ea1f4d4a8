//===- SoftmaxCrossEntropy.cpp - train.softmax_cross_entropy --------------===//
#include "dialects/Train/Ops/CrossEntropySupport.h"
#include "dialects/Train/Ops/PartSupport.h"
#include "dialects/Train/Ops/RowSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult SoftmaxCrossEntropyOp::verify() {
  if (failed(verifyCrossEntropy(*this, getLogits().getType(),
                                getLabels().getType())))
    return failure();
  auto perSample =
      withShape(getLogits().getType(), getLabels().getType().getShape());
  if (failed(
          verifyTypeOrPrecision(*this, "loss", getLoss().getType(), perSample)))
    return failure();
  return verifyTypeOrPrecision(*this, "log_sum_exp", getLogSumExp().getType(),
                               perSample);
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
  Value shifted = SubOp::create(builder, loc, widen(builder, loc, getLogits()),
                                overClasses(getLogSumExp()));
  Value softmax = ExpOp::create(builder, loc, shifted);
  Value term =
      MulOp::create(builder, loc, softmax, overClasses(resultGrads[1]));
  term = narrow(builder, loc, term, type);
  operandGrads[0] = operandGrads[0]
                        ? AddOp::create(builder, loc, operandGrads[0], term)
                        : term;
  return success();
}

ShardingRule SoftmaxCrossEntropyOp::getShardingRule() {
  return crossEntropyShardingRule(*this, getLogits().getType());
}

ShardingRule SoftmaxCrossEntropyOp::getFinerRule() {
  return crossEntropyFinerRule(*this, getLogits().getType(), FactorKind::Sum);
}

// Every part of the classes has its own loss and log sum exp, whose difference
// is the label's logit in one part and 0 in the others. The log sum exp of
// these is that of all classes.
SmallVector<Value> SoftmaxCrossEntropyOp::decompose(OpBuilder &builder,
                                                    ArrayRef<int64_t> parts) {
  Location loc = getLoc();
  auto split =
      splitClasses(builder, loc, getLogits(), getLabels(), parts.back());
  if (!split)
    return {};
  auto [logits, labels] = *split;
  RankedTensorType type = getLogits().getType();
  int64_t dim = type.getRank() - 1;
  // Losses are as exact as the whole op's, whatever the logits are.
  Type perPart = withShape(getLoss().getType(),
                           cast<RankedTensorType>(labels.getType()).getShape());
  auto own = SoftmaxCrossEntropyOp::create(builder, loc, perPart, perPart,
                                           logits, labels, kIgnoreNone);
  Type perSample = getLoss().getType();
  Value none = splat(builder, loc, getLabels().getType(), -1);
  auto all =
      SoftmaxCrossEntropyOp::create(builder, loc, perSample, perSample,
                                    own.getLogSumExp(), none, kIgnoreNone);
  Value picked = reduceSum(
      builder, loc,
      SubOp::create(builder, loc, own.getLogSumExp(), own.getLoss()), dim);
  Value loss = SubOp::create(builder, loc, all.getLogSumExp(), picked);
  Value counts = compareIgnored(builder, loc, getLabels(), getIgnoreIndex());
  loss = SelectOp::create(builder, loc, perSample, counts,
                          splat(builder, loc, perSample, 0), loss);
  return {loss, all.getLogSumExp()};
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
    Value picked =
        s.select(buildIsClass(builder, loc, label, shape.back()),
                 buildLoad(builder, loc, row, place), s.constant(element, 0));
    Value distance = s.sub(picked, largest);
    Value ignored = buildIsIgnored(builder, loc, label, getIgnoreIndex());
    Value loss =
        s.select(ignored, s.constant(element, 0), s.sub(logSum, distance));
    buildStore(builder, loc, loss, outputs[0], at);
    buildStore(builder, loc, s.add(largest, logSum), outputs[1], at);
  });
}

bool SoftmaxCrossEntropyOp::isStatistic(unsigned) { return true; }

} // namespace zc::train
