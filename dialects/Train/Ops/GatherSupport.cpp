//===- GatherSupport.cpp - gather and scatter_add -------------------------===//
#include "dialects/Train/Ops/GatherSupport.h"

using namespace mlir;

namespace zc::train {

GatherDims::GatherDims(int64_t tableRank, int64_t indexRank, int64_t dim)
    : tableOthers(otherDims(tableRank, dim)) {
  for (int64_t tableDim : tableOthers)
    gatheredOthers.push_back(tableDim < dim ? tableDim
                                            : tableDim + indexRank - 1);
  gatheredIndices = dimRange(dim, dim + indexRank);
}

RankedTensorType gatheredType(RankedTensorType table, RankedTensorType indices,
                              int64_t dim) {
  SmallVector<int64_t> shape(table.getShape().take_front(dim));
  llvm::append_range(shape, indices.getShape());
  llvm::append_range(shape, table.getShape().drop_front(dim + 1));
  return withShape(table, shape);
}

LogicalResult verifyGatherDim(Operation *op, StringRef what,
                              RankedTensorType table, int64_t dim) {
  if (failed(verifyDim(op, "dim", dim, table.getRank())))
    return failure();
  if (table.getDimSize(dim) == 0)
    return op->emitOpError() << what << " has no elements along dim " << dim;
  return success();
}

Value buildTableSlice(OpBuilder &builder, Location loc, Value table,
                      Value indices, Indices at, int64_t dim) {
  Value stored = buildLoad(builder, loc, indices, at);
  OpFoldResult place =
      buildClampedIndex(builder, loc, stored, shapeOf(table)[dim]);
  return buildSlice(builder, loc, table, dim, place);
}

void addTableLoops(ShardingRule &rule, RankedTensorType table,
                   const GatherDims &dims) {
  for (auto [tableDim, updateDim] :
       llvm::zip_equal(dims.tableOthers, dims.gatheredOthers)) {
    int factor = rule.addFactor(table.getDimSize(tableDim));
    rule.operandDims[0][tableDim] = factor;
    rule.operandDims[2][updateDim] = factor;
    rule.resultDims[0][tableDim] = factor;
  }
}

void buildScatter(
    OpBuilder &builder, Location loc, ValueRange inputs, Value output,
    int64_t dim,
    llvm::function_ref<Value(OpBuilder &, Location, Value, Value)> combine) {
  if (inputs[0] != output)
    buildCopy(builder, loc, inputs[0], output);
  GatherDims dims(shapeOf(output).size(), shapeOf(inputs[1]).size(), dim);
  buildLoops(builder, loc, shapeOf(inputs[1]), [&](Indices at) {
    Value result = buildTableSlice(builder, loc, output, inputs[1], at, dim);
    Value update =
        buildSlice(builder, loc, inputs[2], dims.gatheredIndices, at);
    buildPointwise(builder, loc, update, result,
                   [&](OpBuilder &nested, Location bodyLoc, ValueRange e) {
                     return SmallVector<Value>{
                         combine(nested, bodyLoc, e[1], e[0])};
                   });
  });
}

} // namespace zc::train
