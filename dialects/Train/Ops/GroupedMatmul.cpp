//===- GroupedMatmul.cpp - train.grouped_matmul ---------------------------===//
#include "dialects/Train/Ops/ExpertSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult GroupedMatmulOp::verify() {
  RankedTensorType rows = tensorTypeOf(getRows()),
                   weights = tensorTypeOf(getWeights());
  RankedTensorType result = tensorTypeOf(getResult());
  if (rows.getRank() != 2 || weights.getRank() != 3)
    return emitOpError("expected rows of 2 dims and weights of 3");
  if (rows.getElementType() != weights.getElementType())
    return emitOpError("operands have different element types");
  if (result.getElementType() != rows.getElementType() &&
      result.getElementType() != getComputeType(rows.getElementType()))
    return emitOpError("operands of ")
           << rows.getElementType() << " give no " << result.getElementType();
  int64_t inner = weights.getDimSize(getTransposeWeights() ? 2 : 1);
  if (inner != rows.getDimSize(1))
    return emitOpError("contracts ")
           << rows.getDimSize(1) << " with " << inner << " elements";
  int64_t columns = weights.getDimSize(getTransposeWeights() ? 1 : 2);
  if (result.getShape() != ArrayRef<int64_t>{rows.getDimSize(0), columns})
    return emitOpError("expected a result of ")
           << rows.getDimSize(0) << " x " << columns;
  return verifyExperts(*this, getGroups(), getIds(), rows.getDimSize(0),
                       weights.getDimSize(0), getExperts());
}

ShardingRule GroupedMatmulOp::getShardingRule() {
  ShardingRule rule;
  RankedTensorType weights = tensorTypeOf(getWeights());
  int row = rule.addFactor(tensorTypeOf(getRows()).getDimSize(0));
  int inner =
      rule.addFactor(tensorTypeOf(getRows()).getDimSize(1), FactorKind::Sum);
  int column = rule.addFactor(tensorTypeOf(getResult()).getDimSize(1));
  int expert = rule.addFactor(weights.getDimSize(0), FactorKind::Sum);
  bool swapped = getTransposeWeights();
  rule.operandDims = {
      {row, inner},
      {expert, swapped ? column : inner, swapped ? inner : column},
      {row},
      {expert}};
  rule.resultDims = {{row, column}};
  rule.linearity = {Linearity::Separate, Linearity::Separate, Linearity::None,
                    Linearity::None};
  return rule;
}

// A rank with a part of the experts multiplies their part of the rows, which is
// as large where the rows are spread evenly.
double GroupedMatmulOp::getFlops() {
  double share =
      double(tensorTypeOf(getWeights()).getDimSize(0)) / getExperts();
  return 2.0 * numElements(getType()) * tensorTypeOf(getRows()).getDimSize(1) *
         share;
}

void GroupedMatmulOp::buildLinalg(OpBuilder &builder, Location loc,
                                  ValueRange inputs, ValueRange outputs) {
  buildFill(builder, loc, outputs[0], 0);
  AffineExpr k = builder.getAffineDimExpr(0), n = builder.getAffineDimExpr(1);
  auto map = [&](ArrayRef<AffineExpr> results) {
    return AffineMap::get(2, 0, results, builder.getContext());
  };
  bool swapped = getTransposeWeights();
  auto body = [&](OpFoldResult row, OpFoldResult expert) {
    buildGeneric(builder, loc, 2,
                 {map({k}), swapped ? map({n, k}) : map({k, n}), map({n})},
                 {buildSlice(builder, loc, inputs[0], {0}, {row}),
                  buildSlice(builder, loc, inputs[1], {0}, {expert})},
                 buildSlice(builder, loc, outputs[0], {0}, {row}),
                 [](OpBuilder &nested, Location at, ValueRange e) {
                   ScalarBuilder s(nested, at);
                   return SmallVector<Value>{s.add(e[2], s.mul(e[0], e[1]))};
                 });
  };
  buildExpertLoops(builder, loc, inputs[2], inputs[3], body);
}

LogicalResult GroupedMatmulOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                                   ArrayRef<bool> wanted,
                                   MutableArrayRef<Value> operandGrads) {
  // y = x W: dx = dy W^T and dW = x^T dy, stored as W is.
  Location loc = getLoc();
  Value grad = resultGrads[0];
  bool swapped = getTransposeWeights();
  if (wanted[0])
    operandGrads[0] = GroupedMatmulOp::create(builder, loc, getRows().getType(),
                                              grad, getWeights(), getGroups(),
                                              getIds(), getExperts(), !swapped);
  if (wanted[1])
    operandGrads[1] = GroupedMatmulGradOp::create(
        builder, loc, getWeights().getType(), swapped ? grad : getRows(),
        swapped ? getRows() : grad, getGroups(), getIds(), getExperts());
  return success();
}

Precision GroupedMatmulOp::getPrecision() { return Precision::Narrow; }

bool GroupedMatmulOp::accumulates(unsigned) { return true; }

} // namespace zc::train
