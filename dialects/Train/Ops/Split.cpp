//===- Split.cpp - train.split ------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult SplitOp::verify() {
  auto from = cast<RankedTensorType>(getInput().getType());
  int64_t dim = getDim(), sum = 0;
  if (getResults().empty())
    return emitOpError("has no results");
  if (dim < 0 || dim >= from.getRank())
    return emitOpError("dim ") << dim << " is none of the operand";
  for (auto [index, result] : llvm::enumerate(getResults())) {
    auto to = cast<RankedTensorType>(result.getType());
    if (to.getRank() != from.getRank() ||
        to.getElementType() != from.getElementType())
      return emitOpError("result ")
             << index << " differs from the operand in dims or element type";
    for (int64_t other : otherDims(from.getRank(), {dim}))
      if (to.getDimSize(other) != from.getDimSize(other))
        return emitOpError("result ")
               << index << " dim " << other << " is " << to.getDimSize(other)
               << ", the operand has " << from.getDimSize(other);
    sum += to.getDimSize(dim);
  }
  if (sum != from.getDimSize(dim))
    return emitOpError("results have ")
           << sum << " along dim " << dim << ", the operand "
           << from.getDimSize(dim);
  return success();
}

ShardingRule SplitOp::getShardingRule() {
  ShardingRule rule = ShardingRule::whole(getOperation());
  auto from = cast<RankedTensorType>(getInput().getType());
  for (int64_t dim :
       otherDims(from.getRank(), {static_cast<int64_t>(getDim())})) {
    int factor = rule.addFactor(from.getDimSize(dim));
    rule.operandDims[0][dim] = factor;
    for (auto &dims : rule.resultDims)
      dims[dim] = factor;
  }
  rule.linearity[0] = Linearity::Joint;
  return rule;
}

double SplitOp::getFlops() { return 0; }

void SplitOp::buildLinalg(OpBuilder &builder, Location loc, ValueRange inputs,
                          ValueRange outputs) {
  unsigned rank = shapeOf(inputs[0]).size();
  SmallVector<int64_t> offsets(rank, 0), strides(rank, 1);
  for (Value output : outputs) {
    Value window =
        buildWindow(builder, loc, inputs[0], offsets, shapeOf(output), strides);
    buildCopy(builder, loc, window, output);
    offsets[getDim()] += shapeOf(output)[getDim()];
  }
}

// One concatenation, where slices would each add a padded gradient.
LogicalResult SplitOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                           ArrayRef<bool> wanted,
                           MutableArrayRef<Value> operandGrads) {
  SmallVector<Value> parts;
  for (auto [result, grad] : llvm::zip(getResults(), resultGrads))
    parts.push_back(grad ? grad
                         : splat(builder, getLoc(), result.getType(), 0));
  operandGrads[0] = ConcatOp::create(builder, getLoc(), getInput().getType(),
                                     parts, getDim());
  return success();
}

} // namespace zc::train
