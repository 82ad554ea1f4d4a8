//===- GroupedMatmul.cpp - train.grouped_matmul ---------------------------===//
#include "dialects/Train/Ops/ExpertSupport.h"

using namespace mlir;

namespace zc::train {

/// Its rooms, where a model's file tells of them.
static LogicalResult verifyOwnRooms(GroupedMatmulOp op) {
  if (op.getRoomGroups().has_value() != op.getRoomCapacity().has_value())
    return op.emitOpError("expected room_groups with room_capacity, found one "
                          "of them");
  for (std::optional<uint64_t> number :
       {op.getRoomGroups(), op.getRoomCapacity()})
    if (number && int64_t(*number) < 1)
      return op.emitOpError("expected room_groups and room_capacity of at "
                            "least 1, found ")
             << int64_t(*number);
  return success();
}

LogicalResult GroupedMatmulOp::verify() {
  if (failed(verifyOwnRooms(*this)))
    return failure();
  auto rows = tensorTypeOf(getRows()), weights = tensorTypeOf(getWeights());
  auto result = tensorTypeOf(getResult());
  if ((rows.getRank() != 2 && rows.getRank() != 3) || weights.getRank() != 3)
    return emitOpError("expected rows of 2 or 3 dims and weights of 3");
  if (rows.getElementType() != weights.getElementType())
    return emitOpError("operands have different element types");
  if (result.getElementType() != rows.getElementType() &&
      result.getElementType() != getComputeType(rows.getElementType()))
    return emitOpError("operands of ")
           << rows.getElementType() << " give no " << result.getElementType();
  int64_t inner = weights.getDimSize(getTransposeWeights() ? 2 : 1);
  if (inner != rows.getShape().back())
    return emitOpError("contracts ")
           << rows.getShape().back() << " with " << inner << " elements";
  SmallVector<int64_t> expected(rows.getShape().drop_back());
  expected.push_back(weights.getDimSize(getTransposeWeights() ? 1 : 2));
  if (result.getShape() != ArrayRef(expected))
    return emitOpError("expected a result of ") << withShape(result, expected);
  return verifyExperts(*this, getOrder(), getRows(), getGroups(), getIds(),
                       weights.getDimSize(0), getExperts());
}

ShardingRule GroupedMatmulOp::getShardingRule() {
  ShardingRule rule;
  auto rows = tensorTypeOf(getRows()), weights = tensorTypeOf(getWeights());
  bool sorted = rows.getRank() == 3, swapped = getTransposeWeights();
  int row = rule.addFactor(rows.getDimSize(sorted ? 1 : 0));
  int inner = rule.addFactor(rows.getShape().back(), FactorKind::Sum);
  int column = rule.addFactor(tensorTypeOf(getResult()).getShape().back());
  int expert = rule.addFactor(weights.getDimSize(0),
                              sorted ? FactorKind::Parallel : FactorKind::Sum);
  rule.operandDims = {
      {row, inner},
      {expert, swapped ? column : inner, swapped ? inner : column},
      {row},
      {expert}};
  rule.resultDims = {{row, column}};
  if (sorted)
    for (auto *dims :
         {&rule.operandDims[0], &rule.operandDims[2], &rule.resultDims[0]})
      dims->insert(dims->begin(), expert);
  rule.linearity = {Linearity::Separate, Linearity::Separate, Linearity::None,
                    Linearity::None};
  addWholeOperands(rule, getOrder());
  return rule;
}

double GroupedMatmulOp::getFlops() {
  double share =
      expertShare(getRows(), tensorTypeOf(getWeights()).getDimSize(0),
                  getExperts(), getFilled().convertToDouble());
  return 2.0 * numElements(getType()) *
         tensorTypeOf(getRows()).getShape().back() * share;
}

void GroupedMatmulOp::buildLinalg(OpBuilder &builder, Location loc,
                                  ValueRange inputs, ValueRange outputs) {
  buildFill(builder, loc, outputs[0], 0);
  AffineExpr k = builder.getAffineDimExpr(0), n = builder.getAffineDimExpr(1);
  auto map = [&](ArrayRef<AffineExpr> results) {
    return AffineMap::get(2, 0, results, builder.getContext());
  };
  auto weights = getTransposeWeights() ? map({n, k}) : map({k, n});
  auto body = [&](Indices row, OpFoldResult expert) {
    buildGeneric(builder, loc, 2, {map({k}), weights, map({n})},
                 {buildRow(builder, loc, inputs[0], row),
                  buildSlice(builder, loc, inputs[1], {0}, {expert})},
                 buildRow(builder, loc, outputs[0], row),
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
    operandGrads[0] = GroupedMatmulOp::create(
        builder, loc, getRows().getType(), grad, getWeights(), getGroups(),
        getIds(), ValueRange(), getExperts(), getFilled(), !swapped,
        /*room_groups=*/IntegerAttr(), /*room_capacity=*/IntegerAttr());
  if (wanted[1])
    operandGrads[1] = GroupedMatmulGradOp::create(
        builder, loc, getWeights().getType(), swapped ? grad : getRows(),
        swapped ? getRows() : grad, getGroups(), getIds(), ValueRange(),
        getExperts(), getFilled());
  return success();
}

Precision GroupedMatmulOp::getPrecision() { return Precision::Narrow; }

bool GroupedMatmulOp::accumulates(unsigned) { return true; }

} // namespace zc::train
