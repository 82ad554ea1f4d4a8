//===- GroupedMatmulGrad.cpp - train.grouped_matmul_grad ------------------===//
#include "dialects/Train/Ops/ExpertSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult GroupedMatmulGradOp::verify() {
  auto lhs = tensorTypeOf(getLhs()), rhs = tensorTypeOf(getRhs());
  auto result = tensorTypeOf(getResult());
  if ((lhs.getRank() != 2 && lhs.getRank() != 3) || result.getRank() != 3 ||
      lhs.getShape().drop_back() != rhs.getShape().drop_back())
    return emitOpError("expected two operands of as many rows, and a result of "
                       "3 dims");
  if (lhs.getElementType() != rhs.getElementType())
    return emitOpError("operands have different element types");
  if (result.getElementType() != lhs.getElementType() &&
      result.getElementType() != getComputeType(lhs.getElementType()))
    return emitOpError("operands of ")
           << lhs.getElementType() << " give no " << result.getElementType();
  int64_t k = lhs.getShape().back(), n = rhs.getShape().back();
  if (result.getShape().drop_front() != ArrayRef<int64_t>{k, n})
    return emitOpError("expected matrices of ") << k << " x " << n;
  return verifyExperts(*this, getOrder(), getLhs(), getGroups(), getIds(),
                       result.getDimSize(0), getExperts());
}

ShardingRule GroupedMatmulGradOp::getShardingRule() {
  ShardingRule rule;
  auto lhs = tensorTypeOf(getLhs()), result = tensorTypeOf(getResult());
  bool sorted = lhs.getRank() == 3;
  int row = rule.addFactor(lhs.getDimSize(sorted ? 1 : 0), FactorKind::Sum);
  int expert = rule.addFactor(result.getDimSize(0));
  int k = rule.addFactor(result.getDimSize(1));
  int n = rule.addFactor(result.getDimSize(2));
  rule.operandDims = {{row, k}, {row, n}, {row}, {expert}};
  rule.resultDims = {{expert, k, n}};
  if (sorted)
    for (auto &dims : llvm::MutableArrayRef(rule.operandDims).take_front(3))
      dims.insert(dims.begin(), expert);
  rule.linearity = {Linearity::Separate, Linearity::Separate, Linearity::None,
                    Linearity::None};
  addWholeOperands(rule, getOrder());
  return rule;
}

double GroupedMatmulGradOp::getFlops() {
  auto result = tensorTypeOf(getResult());
  return 2.0 * numElements(getLhs().getType()) * result.getDimSize(2) *
         expertShare(getLhs(), result.getDimSize(0), getExperts(),
                     getFilled().convertToDouble());
}

void GroupedMatmulGradOp::buildLinalg(OpBuilder &builder, Location loc,
                                      ValueRange inputs, ValueRange outputs) {
  buildFill(builder, loc, outputs[0], 0);
  AffineExpr k = builder.getAffineDimExpr(0), n = builder.getAffineDimExpr(1);
  auto map = [&](ArrayRef<AffineExpr> results) {
    return AffineMap::get(2, 0, results, builder.getContext());
  };
  auto body = [&](Indices row, OpFoldResult expert) {
    buildGeneric(builder, loc, 2, {map({k}), map({n}), map({k, n})},
                 {buildRow(builder, loc, inputs[0], row),
                  buildRow(builder, loc, inputs[1], row)},
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
