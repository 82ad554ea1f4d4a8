//===- Gather.cpp - train.gather ------------------------------------------===//
#include "dialects/Train/Ops/GatherSupport.h"
#include "dialects/Train/Ops/PartSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult GatherOp::verify() {
  RankedTensorType table = getTable().getType();
  RankedTensorType indices = getIndices().getType();
  if (failed(verifyGatherDims(*this, "table", table, indices, getDim(),
                              getBatchDims())))
    return failure();
  return verifyType(*this, "result", getResult().getType(),
                    gatheredType(table, indices, getDim(), getBatchDims()));
}

/// `grad`, but 0 where the index is the padding's.
static Value withoutPadding(OpBuilder &builder, GatherOp op, int64_t padding,
                            Value grad) {
  Location loc = op.getLoc();
  TypedValue<RankedTensorType> indices = op.getIndices();
  Value none = splat(builder, loc, indices.getType(), padding);
  auto bits =
      RankedTensorType::get(indices.getType().getShape(), builder.getI1Type());
  Value isPadding =
      CompareOp::create(builder, loc, bits, Predicate::Eq, indices, none);
  GatherDims dims = gatherDimsOf(op, op.getTable().getType());
  Value mask = broadcast(builder, loc, isPadding,
                         cast<ShapedType>(grad.getType()).getShape(),
                         dims.gatheredIndices);
  return SelectOp::create(builder, loc, mask,
                          splat(builder, loc, grad.getType(), 0), grad);
}

LogicalResult GatherOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                            ArrayRef<bool> wanted,
                            MutableArrayRef<Value> operandGrads) {
  if (!wanted[0])
    return success();
  Location loc = getLoc();
  Value zeros = splat(builder, loc, withComputeType(getTable().getType()), 0);
  Value updates = widen(builder, loc, resultGrads[0]);
  if (std::optional<int64_t> padding = getPaddingIndex())
    updates = withoutPadding(builder, *this, *padding, updates);
  operandGrads[0] =
      ScatterAddOp::create(builder, loc, zeros.getType(), zeros, getIndices(),
                           updates, getDimAttr(), getBatchDimsAttr());
  return success();
}

ShardingRule GatherOp::getShardingRule() {
  ShardingRule rule = ShardingRule::whole(getOperation());
  GatherDims dims = gatherDimsOf(*this, getTable().getType());
  auto &slices = rule.resultDims[0];
  for (auto [tableDim, resultDim] :
       llvm::zip_equal(dims.tableOthers, dims.gatheredOthers)) {
    int factor = rule.addFactor(getTable().getType().getDimSize(tableDim));
    rule.operandDims[0][tableDim] = slices[resultDim] = factor;
    if (tableDim < dims.batchDims)
      rule.operandDims[1][tableDim] = factor;
  }
  for (auto [indexDim, resultDim] : llvm::enumerate(dims.gatheredIndices)) {
    if (static_cast<int64_t>(indexDim) < dims.batchDims)
      continue;
    int factor = rule.addFactor(getIndices().getType().getDimSize(indexDim));
    rule.operandDims[1][indexDim] = slices[resultDim] = factor;
  }
  rule.linearity[0] = Linearity::Separate;
  return rule;
}

// Each part of the table has some of the rows: the others are zeros, and the
// result is the sum.
ShardingRule GatherOp::getFinerRule() {
  ShardingRule rule = getShardingRule();
  rule.operandDims[0][getDim()] = rule.addFactor(
      getTable().getType().getDimSize(getDim()), FactorKind::Sum);
  return rule;
}

SmallVector<Value> GatherOp::decompose(OpBuilder &builder,
                                       ArrayRef<int64_t> parts) {
  Location loc = getLoc();
  int64_t dim = getDim(), count = parts.back();
  int64_t rows = getTable().getType().getDimSize(dim);
  if (count == 1 || count == rows)
    return {};
  IndexParts at = placeIndices(builder, loc, getIndices(), rows, count);
  Value table = splitDim(builder, loc, getTable(), dim, count);
  auto tableType = cast<RankedTensorType>(table.getType());
  int64_t batchDims = getBatchDims();
  auto type =
      gatheredType(tableType, getIndices().getType(), dim + 1, batchDims);
  Value slices =
      GatherOp::create(builder, loc, type, table, at.local, dim + 1, batchDims);
  GatherDims dims(tableType.getRank(), getIndices().getType().getRank(),
                  dim + 1, batchDims);
  Value mine = isInPart(builder, loc, at.part, type.getShape(), dim,
                        dims.gatheredIndices);
  return {reduceSum(builder, loc, maskValue(builder, loc, mine, slices), dim)};
}

double GatherOp::getFlops() { return 0; }

void GatherOp::buildLinalg(OpBuilder &builder, Location loc, ValueRange inputs,
                           ValueRange outputs) {
  GatherDims dims = gatherDimsOf(*this, getTable().getType());
  buildLoops(builder, loc, shapeOf(inputs[1]), [&](Indices at) {
    Value table = buildTableSlice(builder, loc, inputs[0], inputs[1], at, dims);
    Value result =
        buildSlice(builder, loc, outputs[0], dims.gatheredIndices, at);
    buildCopy(builder, loc, table, result);
  });
}

} // namespace zc::train
