//===- EvaluationMetrics.cpp - sums over samples --------------------------===//
#include "passes/Autodiff/EvaluationMetrics.h"

#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Autodiff/ProgramBuilder.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

// 1 for samples, 0 for padding, spread over the losses' shape.
static Value sampleWeights(func::FuncOp eval, OpBuilder &builder, Location loc,
                           RankedTensorType type, int64_t batchDim) {
  auto weightType = withShape(type, {type.getDimSize(batchDim)});
  SmallVector<NamedAttribute> attributes = {
      builder.getNamedAttr(kInputAttr, builder.getStringAttr("sample_weight")),
      builder.getNamedAttr(kBatchDimAttr, builder.getI64IntegerAttr(0)),
      builder.getNamedAttr(kSampleWeightAttr, builder.getUnitAttr())};
  Value weights = addArgument(eval, weightType, attributes, loc);
  return broadcast(builder, loc, weights, type.getShape(), {batchDim});
}

void addEvaluationMetrics(func::FuncOp eval, OpBuilder &builder, Location loc,
                          const SampleLosses &losses, int64_t batchDim) {
  auto type = cast<RankedTensorType>(losses.losses.getType());
  Value weights = batchDim < 0
                      ? splat(builder, loc, type, 1)
                      : sampleWeights(eval, builder, loc, type, batchDim);
  if (losses.counts)
    weights = MulOp::create(builder, loc, weights, losses.counts);
  auto addMetric = [&](StringRef name, Value values) {
    addResult(eval, sumAll(builder, loc, values),
              builder.getNamedAttr(kMetricAttr, builder.getStringAttr(name)));
  };
  auto weighted = [&](Value values) {
    return MulOp::create(builder, loc, values, weights);
  };
  addMetric("loss_sum", weighted(losses.losses));
  addMetric("weight_sum", weights);
  if (losses.correct)
    addMetric("correct_sum", weighted(losses.correct));
}

} // namespace zc
