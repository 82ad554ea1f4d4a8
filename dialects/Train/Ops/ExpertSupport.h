//===- ExpertSupport.h - grouped_matmul and its gradient --------*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_OPS_EXPERTSUPPORT_H
#define ZC_DIALECTS_TRAIN_OPS_EXPERTSUPPORT_H

#include "dialects/Train/ExpertOps.h"
#include "dialects/Train/Ops/LoopSupport.h"

namespace zc::train {

inline mlir::RankedTensorType tensorTypeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// A row's place, of one index, or of two where rows are sorted; and its
/// expert.
using ExpertBody =
    llvm::function_ref<void(Indices row, mlir::OpFoldResult expert)>;

/// Loops over all rows, and in each over the expert whose id is its group.
void buildExpertLoops(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value groups, mlir::Value ids, ExpertBody body);

/// The slice of a buffer of rows at a row's place.
mlir::Value buildRow(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value rows, Indices at);

/// Operands that no factor divides, behind those that `rule` knows.
void addWholeOperands(ShardingRule &rule, mlir::ValueRange operands);

/// An error unless `rows` [R, ..] or [E, R, ..] have a number each in `groups`
/// and `ids` one for each of `weights`, of at most `experts`, and `order` is
/// nothing, or of all rows with the ends of as many experts.
mlir::LogicalResult verifyExperts(mlir::Operation *op, mlir::ValueRange order,
                                  mlir::Value rows, mlir::Value groups,
                                  mlir::Value ids, int64_t weights,
                                  int64_t experts);

/// The share of the rows that this op multiplies.
double expertShare(mlir::Value rows, int64_t weights, int64_t experts,
                   double filled);

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_OPS_EXPERTSUPPORT_H
