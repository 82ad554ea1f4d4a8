//===- StageCrossings.h - values that cross from stage to stage -*- C++ -*-===//
#ifndef ZC_PASSES_PIPELINE_STAGECROSSINGS_H
#define ZC_PASSES_PIPELINE_STAGECROSSINGS_H

#include "dialects/Train/TrainDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <optional>
#include <vector>

namespace zc {

/// The stage of the op that makes a value (train.stage); -1: of none.
int64_t stageOf(mlir::Value value);

/// Where a stage is: which of the stages of which role, or of the roles from
/// that on.
struct StagePlace {
  int64_t role, chunk;
  int64_t replicas = 1;
};

/// A value that a stage other than its own reads.
struct Crossing {
  mlir::Value value;
  int64_t from, to, id; // stages; the message
  bool hasGradient;
  std::optional<int64_t> batchDim, tokenDim;
};

/// Each stage that reads a view, or a value that is only made wider, computes
/// it itself: only the operand is sent, straight from its stage and once.
void repeatOps(mlir::func::FuncOp program);

/// The values of a program that cross, in the program's order, and for each
/// value by the stage that reads it, so that both ends of a line agree on the
/// order of its messages. Numbers begin at `id`, which grows; the number behind
/// an activation's is its gradient's. Each pair of replicas has its own.
std::vector<Crossing> findCrossings(mlir::func::FuncOp program,
                                    llvm::ArrayRef<StagePlace> places,
                                    int64_t &id);

} // namespace zc

#endif // ZC_PASSES_PIPELINE_STAGECROSSINGS_H
