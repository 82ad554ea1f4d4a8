//===- LayerNormSupport.cpp - layer_norm and its gradient -----------------===//
#include "dialects/Train/Ops/LayerNormSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult verifyLayerNorm(Operation *op, RankedTensorType input,
                              int64_t axis, Type scale, Type mean, Type rstd) {
  if (failed(verifyDim(op, "axis", axis, input.getRank())))
    return failure();
  ArrayRef<int64_t> shape = input.getShape();
  auto inner = withShape(input, shape.drop_front(axis));
  auto outer = withShape(input, shape.take_front(axis));
  if (failed(verifyTypeOrPrecision(op, "scale", scale, inner)) ||
      failed(verifyTypeOrPrecision(op, "mean", mean, outer)))
    return failure();
  return verifyTypeOrPrecision(op, "rstd", rstd, outer);
}

ShardingRule layerNormShardingRule(Operation *op, RankedTensorType input,
                                   int64_t axis, ArrayRef<int> operands,
                                   ArrayRef<int> results) {
  ShardingRule rule = ShardingRule::whole(op);
  for (int64_t dim = 0; dim < axis; ++dim) {
    int factor = rule.addFactor(input.getDimSize(dim));
    for (int operand : operands)
      rule.operandDims[operand][dim] = factor;
    for (int result : results)
      rule.resultDims[result][dim] = factor;
  }
  return rule;
}

} // namespace zc::train
