//===- ExchangeRows.cpp - train.exchange_rows -----------------------------===//
#include "dialects/Train/Ops/ExpertSupport.h"
#include "dialects/Train/Ops/SparseSupport.h"

#include <limits>

using namespace mlir;

namespace zc::train {

LogicalResult ExchangeRowsOp::verify() {
  auto input = tensorTypeOf(getInput());
  auto indices = tensorTypeOf(getIndices());
  if (input.getRank() != 3 || indices.getRank() != 2)
    return emitOpError("expected rows of 3 dims and indices of 2");
  if (tensorTypeOf(getInverse()).getShape() != input.getShape().drop_back() ||
      indices.getDimSize(0) != input.getDimSize(0))
    return emitOpError("expected an inverse index for each row of ")
           << input << " and as many groups of indices, found "
           << getInverse().getType() << " and " << indices;
  return verifyType(
      *this, "result", getType(),
      withShape(input, {input.getDimSize(0), indices.getDimSize(1),
                        input.getDimSize(2)}));
}

LogicalResult ExchangeRowsOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                                  ArrayRef<bool> wanted,
                                  MutableArrayRef<Value> operandGrads) {
  Value grad = resultGrads[0];
  operandGrads[0] = ExchangeRowsOp::create(
      builder, getLoc(),
      withShape(grad.getType(), tensorTypeOf(getInput()).getShape()), grad,
      getInverse(), getIndices(), /*mark_empty=*/false);
  return success();
}

ShardingRule ExchangeRowsOp::getShardingRule() {
  ShardingRule rule = ShardingRule::whole(getOperation());
  int group = rule.addFactor(tensorTypeOf(getInput()).getDimSize(0));
  int width = rule.addFactor(tensorTypeOf(getInput()).getDimSize(2));
  int row = rule.addFactor(tensorTypeOf(getIndices()).getDimSize(1));
  for (auto &dims : rule.operandDims)
    dims[0] = group;
  rule.resultDims[0][0] = group;
  rule.operandDims[1][1] = rule.resultDims[0][1] = row;
  rule.operandDims[0][2] = rule.resultDims[0][2] = width;
  rule.linearity[0] = Linearity::Separate;
  return rule;
}

double ExchangeRowsOp::getFlops() { return 0; }

void ExchangeRowsOp::buildLinalg(OpBuilder &builder, Location loc,
                                 ValueRange inputs, ValueRange outputs) {
  buildFill(builder, loc, outputs[0],
            getMarkEmpty() ? -std::numeric_limits<double>::infinity() : 0);
  int64_t rows = shapeOf(inputs[0])[1];
  buildLoops(builder, loc, shapeOf(inputs[1]), [&](Indices at) {
    Value stored = buildLoad(builder, loc, inputs[1], at);
    Value zero = arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(stored.getType(), 0));
    Value isRow = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge,
                                        stored, zero);
    Value place = buildClampedIndex(builder, loc, stored, rows);
    buildIf(builder, loc, isRow, [&] {
      buildCopy(builder, loc,
                buildSlice(builder, loc, inputs[0], {0, 1},
                           {at[0], OpFoldResult(place)}),
                buildSlice(builder, loc, outputs[0], {0, 1}, at));
    });
  });
}

} // namespace zc::train
