//===- GatherSupport.cpp - gather and scatter_add -------------------------===//
#include "dialects/Train/Ops/GatherSupport.h"

using namespace mlir;

namespace zc::train {

GatherDims::GatherDims(int64_t tableRank, int64_t indexRank, int64_t dim,
                       int64_t batchDims)
    : dim(dim), batchDims(batchDims), tableOthers(otherDims(tableRank, dim)) {
  int64_t ownIndices = indexRank - batchDims;
  for (int64_t tableDim : tableOthers)
    gatheredOthers.push_back(tableDim < dim ? tableDim
                                            : tableDim + ownIndices - 1);
  gatheredIndices = dimRange(0, batchDims);
  llvm::append_range(gatheredIndices, dimRange(dim, dim + ownIndices));
}

RankedTensorType gatheredType(RankedTensorType table, RankedTensorType indices,
                              int64_t dim, int64_t batchDims) {
  SmallVector<int64_t> shape(table.getShape().take_front(dim));
  llvm::append_range(shape, indices.getShape().drop_front(batchDims));
  llvm::append_range(shape, table.getShape().drop_front(dim + 1));
  return withShape(table, shape);
}

LogicalResult verifyGatherDims(Operation *op, StringRef what,
                               RankedTensorType table, RankedTensorType indices,
                               int64_t dim, int64_t batchDims) {
  if (failed(verifyDim(op, "dim", dim, table.getRank())))
    return failure();
  if (table.getDimSize(dim) == 0)
    return op->emitOpError() << what << " has no elements along dim " << dim;
  bool fits = batchDims >= 0 && batchDims <= dim &&
              batchDims <= indices.getRank() &&
              table.getShape().take_front(batchDims) ==
                  indices.getShape().take_front(batchDims);
  if (!fits)
    return op->emitOpError()
           << "batch_dims is " << batchDims << ", but " << what << ", " << table
           << ", and indices, " << indices
           << ", do not have so many dims in common before dim " << dim;
  return success();
}

Value buildTableSlice(OpBuilder &builder, Location loc, Value table,
                      Value indices, Indices at, const GatherDims &dims) {
  Value stored = buildLoad(builder, loc, indices, at);
  SmallVector<int64_t> sliced = dimRange(0, dims.batchDims);
  SmallVector<OpFoldResult> places(at.take_front(dims.batchDims));
  sliced.push_back(dims.dim);
  places.push_back(
      buildClampedIndex(builder, loc, stored, shapeOf(table)[dims.dim]));
  return buildSlice(builder, loc, table, sliced, places);
}

void addTableLoops(ShardingRule &rule, RankedTensorType table,
                   const GatherDims &dims) {
  for (auto [tableDim, updateDim] :
       llvm::zip_equal(dims.tableOthers, dims.gatheredOthers)) {
    int factor = rule.addFactor(table.getDimSize(tableDim));
    rule.operandDims[0][tableDim] = factor;
    if (tableDim < dims.batchDims)
      rule.operandDims[1][tableDim] = factor;
    rule.operandDims[2][updateDim] = factor;
    rule.resultDims[0][tableDim] = factor;
  }
}

void buildScatter(
    OpBuilder &builder, Location loc, ValueRange inputs, Value output,
    const GatherDims &dims,
    llvm::function_ref<Value(OpBuilder &, Location, Value, Value)> combine) {
  if (inputs[0] != output)
    buildCopy(builder, loc, inputs[0], output);
  buildLoops(builder, loc, shapeOf(inputs[1]), [&](Indices at) {
    Value result = buildTableSlice(builder, loc, output, inputs[1], at, dims);
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
