//===- ExpertSupport.h - grouped_matmul and its gradient --------*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_OPS_EXPERTSUPPORT_H
#define ZC_DIALECTS_TRAIN_OPS_EXPERTSUPPORT_H

#include "dialects/Train/ExpertOps.h"
#include "dialects/Train/Ops/LoopSupport.h"

namespace zc::train {

inline mlir::RankedTensorType tensorTypeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// Loops over all rows, and in each over the expert whose id is its group.
/// `body` gets the indices of both; it is called while the insertion point is
/// where they are known.
void buildExpertLoops(
    mlir::OpBuilder &builder, mlir::Location loc, mlir::Value groups,
    mlir::Value ids,
    llvm::function_ref<void(mlir::OpFoldResult row, mlir::OpFoldResult expert)>
        body);

/// An error unless `groups` has a number for each of `rows`, and `ids` one for
/// each of `weights`, of at most `experts`.
mlir::LogicalResult verifyExperts(mlir::Operation *op, mlir::Value groups,
                                  mlir::Value ids, int64_t rows,
                                  int64_t weights, int64_t experts);

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_OPS_EXPERTSUPPORT_H
