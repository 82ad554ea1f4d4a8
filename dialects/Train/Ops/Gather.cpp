//===- Gather.cpp - train.gather ------------------------------------------===//
#include "dialects/Train/Ops/GatherSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult GatherOp::verify() {
  RankedTensorType table = getTable().getType();
  if (failed(verifyGatherDim(*this, "table", table, getDim())))
    return failure();
  return verifyType(*this, "result", getResult().getType(),
                    gatheredType(table, getIndices().getType(), getDim()));
}

LogicalResult GatherOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                            ArrayRef<bool> wanted,
                            MutableArrayRef<Value> operandGrads) {
  if (!wanted[0])
    return success();
  Location loc = getLoc();
  Value zeros = splat(builder, loc, getTable().getType(), 0);
  operandGrads[0] =
      ScatterAddOp::create(builder, loc, zeros.getType(), zeros, getIndices(),
                           resultGrads[0], getDimAttr());
  return success();
}

ShardingRule GatherOp::getShardingRule() {
  ShardingRule rule = ShardingRule::whole(getOperation());
  GatherDims dims(getTable().getType().getRank(),
                  getIndices().getType().getRank(), getDim());
  auto &slices = rule.resultDims[0];
  for (auto [tableDim, resultDim] :
       llvm::zip_equal(dims.tableOthers, dims.gatheredOthers)) {
    int factor = rule.addFactor(getTable().getType().getDimSize(tableDim));
    rule.operandDims[0][tableDim] = slices[resultDim] = factor;
  }
  for (auto [indexDim, resultDim] : llvm::enumerate(dims.gatheredIndices)) {
    int factor = rule.addFactor(getIndices().getType().getDimSize(indexDim));
    rule.operandDims[1][indexDim] = slices[resultDim] = factor;
  }
  rule.linearity[0] = Linearity::Separate;
  return rule;
}

double GatherOp::getFlops() { return 0; }

void GatherOp::buildLinalg(OpBuilder &builder, Location loc, ValueRange inputs,
                           ValueRange outputs) {
  GatherDims dims(shapeOf(inputs[0]).size(), shapeOf(inputs[1]).size(),
                  getDim());
  buildLoops(builder, loc, shapeOf(inputs[1]), [&](Indices at) {
    Value table =
        buildTableSlice(builder, loc, inputs[0], inputs[1], at, getDim());
    Value result =
        buildSlice(builder, loc, outputs[0], dims.gatheredIndices, at);
    buildCopy(builder, loc, table, result);
  });
}

} // namespace zc::train
