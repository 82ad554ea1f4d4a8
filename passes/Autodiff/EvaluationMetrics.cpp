//===- EvaluationMetrics.cpp - sums over samples --------------------------===//
#include "passes/Autodiff/EvaluationMetrics.h"

#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

// A name that no input has: users never see it, the runtime goes by the
// attribute.
static std::string sampleWeightName(func::FuncOp eval) {
  std::string name = "sample_weight";
  auto isTaken = [&](unsigned argument) {
    auto input = eval.getArgAttrOfType<StringAttr>(argument, kInputAttr);
    return input && input.getValue() == name;
  };
  while (llvm::any_of(llvm::seq(eval.getNumArguments()), isTaken))
    name += '_';
  return name;
}

// 1 for samples, 0 for padding, spread over the losses' shape.
static Value sampleWeights(func::FuncOp eval, OpBuilder &builder, Location loc,
                           RankedTensorType type, int64_t batchDim) {
  auto weightType =
      RankedTensorType::get({type.getDimSize(batchDim)}, builder.getF32Type());
  SmallVector<NamedAttribute> attributes = {
      builder.getNamedAttr(kInputAttr,
                           builder.getStringAttr(sampleWeightName(eval))),
      builder.getNamedAttr(kBatchDimAttr, builder.getI64IntegerAttr(0)),
      builder.getNamedAttr(kSampleWeightAttr, builder.getUnitAttr())};
  Value weights = addArgument(eval, weightType, attributes, loc);
  if (type.getElementType() != weightType.getElementType())
    weights = ConvertOp::create(
        builder, loc, withElementType(weightType, type.getElementType()),
        weights);
  return broadcast(builder, loc, weights, type.getShape(), {batchDim});
}

void addEvaluationMetrics(func::FuncOp eval, OpBuilder &builder, Location loc,
                          const SampleLosses &losses) {
  auto type = cast<RankedTensorType>(losses.losses.getType());
  Value weights = losses.batchDim < 0 ? splat(builder, loc, type, 1)
                                      : sampleWeights(eval, builder, loc, type,
                                                      losses.batchDim);
  Value samples = weights;
  auto times = [&](Value factor) {
    return factor ? MulOp::create(builder, loc, samples, factor) : samples;
  };
  weights = times(losses.weights);
  auto addMetric = [&](StringRef name, Value values) {
    addResult(eval, sumAll(builder, loc, values),
              builder.getNamedAttr(kMetricAttr, builder.getStringAttr(name)));
  };
  // Select out the losses of padding and ignored labels, which may be NaN.
  Value zero = splat(builder, loc, type, 0);
  auto where = [&](Value counts, Value values) {
    Value product = MulOp::create(builder, loc, values, counts);
    return SelectOp::create(builder, loc, type,
                            compare(builder, loc, Predicate::Ne, counts, zero),
                            product, zero);
  };
  // Losses have their weights already.
  Value counts = losses.counts ? times(losses.counts) : weights;
  addMetric("loss_sum", where(counts, losses.losses));
  addMetric("weight_sum", weights);
  if (!losses.correct)
    return;
  addMetric("correct_sum", where(counts, losses.correct));
  if (losses.counts)
    addMetric("count_sum", counts);
}

} // namespace zc
