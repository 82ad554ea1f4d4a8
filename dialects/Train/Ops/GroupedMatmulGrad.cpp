//===- GroupedMatmulGrad.cpp - train.grouped_matmul_grad ------------------===//
#include "dialects/Train/Ops/ExpertSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult GroupedMatmulGradOp::verify() {
  RankedTensorType lhs = tensorTypeOf(getLhs()), rhs = tensorTypeOf(getRhs());
  RankedTensorType result = tensorTypeOf(getResult());
  if (lhs.getRank() != 2 || rhs.getRank() != 2 || result.getRank() != 3 ||
      lhs.getDimSize(0) != rhs.getDimSize(0))
    return emitOpError("expected two operands of as many rows, and a result of "
                       "3 dims");
  if (lhs.getElementType() != rhs.getElementType())
    return emitOpError("operands have different element types");
  if (result.getElementType() != lhs.getElementType() &&
      result.getElementType() != getComputeType(lhs.getElementType()))
    return emitOpError("operands of ")
           << lhs.getElementType() << " give no " << result.getElementType();
  int64_t k = lhs.getDimSize(1), n = rhs.getDimSize(1);
  if (result.getShape().drop_front() != ArrayRef<int64_t>{k, n})
    return emitOpError("expected matrices of ") << k << " x " << n;
  return verifyExperts(*this, getGroups(), getIds(), lhs.getDimSize(0),
                       result.getDimSize(0), getExperts());
}

ShardingRule GroupedMatmulGradOp::getShardingRule() {
  ShardingRule rule;
  RankedTensorType result = tensorTypeOf(getResult());
  int row =
      rule.addFactor(tensorTypeOf(getLhs()).getDimSize(0), FactorKind::Sum);
  int expert = rule.addFactor(result.getDimSize(0));
  int k = rule.addFactor(result.getDimSize(1));
  int n = rule.addFactor(result.getDimSize(2));
  rule.operandDims = {{row, k}, {row, n}, {row}, {expert}};
  rule.resultDims = {{expert, k, n}};
  rule.linearity = {Linearity::Separate, Linearity::Separate, Linearity::None,
                    Linearity::None};
  return rule;
}

double GroupedMatmulGradOp::getFlops() {
  RankedTensorType result = tensorTypeOf(getResult());
  double share = double(result.getDimSize(0)) / getExperts();
  return 2.0 * numElements(getLhs().getType()) * result.getDimSize(2) * share;
}

void GroupedMatmulGradOp::buildLinalg(OpBuilder &builder, Location loc,
                                      ValueRange inputs, ValueRange outputs) {
  buildFill(builder, loc, outputs[0], 0);
  AffineExpr k = builder.getAffineDimExpr(0), n = builder.getAffineDimExpr(1);
  auto map = [&](ArrayRef<AffineExpr> results) {
    return AffineMap::get(2, 0, results, builder.getContext());
  };
  auto body = [&](OpFoldResult row, OpFoldResult expert) {
    buildGeneric(builder, loc, 2, {map({k}), map({n}), map({k, n})},
                 {buildSlice(builder, loc, inputs[0], {0}, {row}),
                  buildSlice(builder, loc, inputs[1], {0}, {row})},
                 buildSlice(builder, loc, outputs[0], {0}, {expert}),
                 [](OpBuilder &nested, Location at, ValueRange e) {
                   ScalarBuilder s(nested, at);
                   return SmallVector<Value>{s.add(e[2], s.mul(e[0], e[1]))};
                 });
  };
  buildExpertLoops(builder, loc, inputs[2], inputs[3], body);
}

Precision GroupedMatmulGradOp::getPrecision() { return Precision::Narrow; }

bool GroupedMatmulGradOp::accumulates(unsigned) { return true; }

} // namespace zc::train
