//===- Concat.cpp - train.concat ----------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult ConcatOp::verify() {
  auto to = cast<RankedTensorType>(getType());
  int64_t dim = getDim(), sum = 0;
  if (getInputs().empty())
    return emitOpError("has no operands");
  if (dim < 0 || dim >= to.getRank())
    return emitOpError("dim ") << dim << " is none of the result";
  for (auto [index, input] : llvm::enumerate(getInputs())) {
    auto from = cast<RankedTensorType>(input.getType());
    if (from.getRank() != to.getRank() ||
        from.getElementType() != to.getElementType())
      return emitOpError("operand ")
             << index << " differs from the result in dims or element type";
    for (int64_t other : otherDims(to.getRank(), {dim}))
      if (from.getDimSize(other) != to.getDimSize(other))
        return emitOpError("operand ")
               << index << " dim " << other << " is " << from.getDimSize(other)
               << ", the result has " << to.getDimSize(other);
    sum += from.getDimSize(dim);
  }
  if (sum != to.getDimSize(dim))
    return emitOpError("operands have ")
           << sum << " along dim " << dim << ", the result "
           << to.getDimSize(dim);
  return success();
}

ShardingRule ConcatOp::getShardingRule() {
  ShardingRule rule = ShardingRule::whole(getOperation());
  auto to = cast<RankedTensorType>(getType());
  for (int64_t dim :
       otherDims(to.getRank(), {static_cast<int64_t>(getDim())})) {
    int factor = rule.addFactor(to.getDimSize(dim));
    rule.resultDims[0][dim] = factor;
    for (auto &dims : rule.operandDims)
      dims[dim] = factor;
  }
  rule.linearity.assign(getNumOperands(), Linearity::Joint);
  return rule;
}

double ConcatOp::getFlops() { return 0; }

void ConcatOp::buildLinalg(OpBuilder &builder, Location loc, ValueRange inputs,
                           ValueRange outputs) {
  unsigned rank = shapeOf(outputs[0]).size();
  SmallVector<int64_t> offsets(rank, 0), strides(rank, 1);
  for (Value input : inputs) {
    Value window =
        buildWindow(builder, loc, outputs[0], offsets, shapeOf(input), strides);
    buildCopy(builder, loc, input, window);
    offsets[getDim()] += shapeOf(input)[getDim()];
  }
}

LogicalResult ConcatOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                            ArrayRef<bool> wanted,
                            MutableArrayRef<Value> operandGrads) {
  int64_t rank = cast<RankedTensorType>(getType()).getRank();
  SmallVector<int64_t> offsets(rank, 0), strides(rank, 1);
  for (auto [index, input] : llvm::enumerate(getInputs())) {
    if (wanted[index])
      operandGrads[index] = SliceOp::create(builder, getLoc(), input.getType(),
                                            resultGrads[0], offsets, strides);
    offsets[getDim()] +=
        cast<RankedTensorType>(input.getType()).getDimSize(getDim());
  }
  return success();
}

// One copy of each part in place of two.
static LogicalResult flattenConcat(ConcatOp op, PatternRewriter &rewriter) {
  SmallVector<Value> parts;
  for (Value input : op.getInputs()) {
    auto inner = input.getDefiningOp<ConcatOp>();
    if (inner && inner.getDim() == op.getDim() && input.hasOneUse())
      llvm::append_range(parts, inner.getInputs());
    else
      parts.push_back(input);
  }
  if (parts.size() == op.getInputs().size())
    return failure();
  rewriter.modifyOpInPlace(op, [&] { op.getInputsMutable().assign(parts); });
  return success();
}

void ConcatOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *) {
  patterns.add(flattenConcat);
}

} // namespace zc::train
