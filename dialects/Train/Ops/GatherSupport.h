//===- GatherSupport.h - gather and scatter_add -----------------*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_OPS_GATHERSUPPORT_H
#define ZC_DIALECTS_TRAIN_OPS_GATHERSUPPORT_H

#include "dialects/Train/Ops/LoopSupport.h"

namespace zc::train {

/// Where the dims of a table [N..., A..., V, B...] and of indices [N..., I...],
/// with `batchDims` in N, stand in the gathered tensor [N..., A..., I...,
/// B...].
struct GatherDims {
  GatherDims(int64_t tableRank, int64_t indexRank, int64_t dim,
             int64_t batchDims);

  int64_t dim, batchDims;
  llvm::SmallVector<int64_t> tableOthers;     // N..., A..., B... in the table
  llvm::SmallVector<int64_t> gatheredOthers;  // the same in the gathered
  llvm::SmallVector<int64_t> gatheredIndices; // N..., I... in the gathered
};

/// The dims of gather, scatter_add and scatter_reduce.
template <typename Op>
GatherDims gatherDimsOf(Op op, mlir::RankedTensorType table) {
  return GatherDims(table.getRank(), op.getIndices().getType().getRank(),
                    op.getDim(), op.getBatchDims());
}

/// The type of the slices of a table at indices along `dim`.
mlir::RankedTensorType gatheredType(mlir::RankedTensorType table,
                                    mlir::RankedTensorType indices, int64_t dim,
                                    int64_t batchDims = 0);

/// An error unless `dim` is a dim of the table that is not empty, and the dims
/// before it begin with `batchDims` that the indices have too.
mlir::LogicalResult verifyGatherDims(mlir::Operation *op, llvm::StringRef what,
                                     mlir::RankedTensorType table,
                                     mlir::RankedTensorType indices,
                                     int64_t dim, int64_t batchDims);

/// The slice of a table buffer at the index stored at `at`.
mlir::Value buildTableSlice(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value table, mlir::Value indices, Indices at,
                            const GatherDims &dims);

/// The loops over a table's dims other than `dim`, which gather's and scatter's
/// ops share: adds each to `rule`, as a dim of the operands 0 (the table), 1
/// (the indices, where it is one of theirs) and 2 (what is gathered) and of the
/// result.
void addTableLoops(ShardingRule &rule, mlir::RankedTensorType table,
                   const GatherDims &dims);

/// Turns `inputs`, a table, indices and updates, into the table with
/// combine(element, update) at each index in turn: in `output`, which may be
/// the table.
void buildScatter(
    mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange inputs,
    mlir::Value output, const GatherDims &dims,
    llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location,
                                   mlir::Value, mlir::Value)>
        combine);

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_OPS_GATHERSUPPORT_H
