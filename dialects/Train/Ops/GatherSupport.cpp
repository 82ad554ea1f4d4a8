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

} // namespace zc::train
