//===- ThreadPlan.h - a kernel's work among GPU threads ---------*- C++ -*-===//
#ifndef ZC_PASSES_CODEGEN_CUDA_THREADPLAN_H
#define ZC_PASSES_CODEGEN_CUDA_THREADPLAN_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Codegen/KernelSplit.h"

namespace zc::cuda {

/// On a kernel's function: threads of a team (a thread block), and whether each
/// of them has a block of the split to itself.
inline constexpr llvm::StringLiteral kThreadsAttr = "sched.threads";
inline constexpr llvm::StringLiteral kBlockPerThreadAttr =
    "sched.block_per_thread";

/// On the function of a team that updates a table row by row and does no more:
/// how many teams have a block of the split, each some rows.
inline constexpr llvm::StringLiteral kRowTeamsAttr = "sched.row_teams";

/// Blocks as small as they go: 16 bytes of a row, which one instruction loads.
KernelSplit chooseThreadSplit(mlir::Block &body);

/// Whether loops read halves of rows that change places (isJoinOfHalves).
bool readsHalves(mlir::Block &body);

/// Blocks for a team: one row, some rows whose halves change places, or columns
/// that are a line of memory.
KernelSplit chooseTeamSplit(mlir::Block &body);

/// Whether one block of `function` is little enough for one thread.
bool isWorkOfOneThread(mlir::func::FuncOp function);

/// Sets these attributes; returns the number of teams and writes it, with the
/// threads behind it, to the head of `sched.signature`.
int64_t setThreads(mlir::func::FuncOp function, bool blockPerThread);

} // namespace zc::cuda

#endif // ZC_PASSES_CODEGEN_CUDA_THREADPLAN_H
