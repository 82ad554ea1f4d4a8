//===- GatherSupport.h - gather and scatter_add -----------------*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_OPS_GATHERSUPPORT_H
#define ZC_DIALECTS_TRAIN_OPS_GATHERSUPPORT_H

#include "dialects/Train/Ops/LoopSupport.h"

namespace zc::train {

/// Where the dims of a table [A..., V, B...] and of indices [I...] stand in the
/// gathered tensor [A..., I..., B...].
struct GatherDims {
  GatherDims(int64_t tableRank, int64_t indexRank, int64_t dim);

  llvm::SmallVector<int64_t> tableOthers;     // A..., B... in the table
  llvm::SmallVector<int64_t> gatheredOthers;  // A..., B... in the gathered
  llvm::SmallVector<int64_t> gatheredIndices; // I... in the gathered
};

/// The type of the slices of a table at indices along `dim`.
mlir::RankedTensorType gatheredType(mlir::RankedTensorType table,
                                    mlir::RankedTensorType indices,
                                    int64_t dim);

/// An error unless `dim` is a dim of the table that is not empty.
mlir::LogicalResult verifyGatherDim(mlir::Operation *op, llvm::StringRef what,
                                    mlir::RankedTensorType table, int64_t dim);

/// The slice of a table buffer along `dim` at the index stored at `at`.
mlir::Value buildTableSlice(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value table, mlir::Value indices, Indices at,
                            int64_t dim);

/// The loops over a table's dims other than `dim`, which gather's and scatter's
/// ops share: adds each to `rule`, as a dim of the operands 0 (the table) and 2
/// (what is gathered) and of the result.
void addTableLoops(ShardingRule &rule, mlir::RankedTensorType table,
                   const GatherDims &dims);

/// Turns `inputs`, a table, indices and updates, into the table with
/// combine(element, update) at each index in turn: in `output`, which may be
/// the table.
void buildScatter(
    mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange inputs,
    mlir::Value output, int64_t dim,
    llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location,
                                   mlir::Value, mlir::Value)>
        combine);

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_OPS_GATHERSUPPORT_H
