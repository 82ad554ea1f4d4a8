//===- SharedHeads.h - fewer heads than ranks -------------------*- C++ -*-===//
//
// Where several queries share a head of keys, there may be fewer such heads
// than ranks that divide the queries. Each rank then needs one head, which
// others need, too. With a head repeated for each of these ranks, from its
// parameters on, heads divide: ranks read the parameters of their own, and
// the gradients of one are the sum over all ranks that have computed with it.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_PASSES_SHARDING_SHAREDHEADS_H
#define ZC_PASSES_SHARDING_SHAREDHEADS_H

#include "dialects/Train/TrainDialect.h"
#include "passes/Sharding/DimClasses.h"
#include "passes/Sharding/SeparateBlocks.h"

namespace zc {

/// Heads that are repeated for the queries that share them: a reshape of
/// [.., heads, copies, ..] to [.., queries' heads, ..].
struct SharedHeads {
  train::ReshapeOp asGiven;  // has no readers while the other one has
  train::ReshapeOp repeated; // of [.., m heads, fewer copies, ..]
  int64_t dim;               // the results' dim of the queries' heads
  int64_t heads;             // as given
  llvm::SmallVector<mlir::Value> sources; // whose blocks are copied
  SeparateBlocks blocks;                  // that were computed together before
};

/// Repeats all heads of a program that `parts` ranks do not divide, but the
/// queries' heads, as often as they must be to divide: m is the least multiple
/// of both numbers. Ops that compute each head by itself, and for no other
/// reader, compute the repeated ones, from the parameters on where heads begin
/// with them; blocks that one product makes with others by themselves. The ops
/// that they replace stay, for restoreHeads; after that
/// eraseDeadOps is to follow.
llvm::SmallVector<SharedHeads> repeatHeads(mlir::func::FuncOp program,
                                           int64_t parts);

/// The parameter whose blocks are copied, or a part of it; null: there is none.
train::StateOp findSourceState(mlir::Value source);

/// Takes it back.
void restoreHeads(const SharedHeads &heads);

/// Whether `op` repeats all of its table's heads so.
bool repeatsHeads(train::GatherOp op);

/// The backward makes its own copies of the parameters of repeated heads, so
/// that a rank's are not kept for it: the parameters are.
void repeatHeadsAgain(mlir::func::FuncOp program);

} // namespace zc

#endif // ZC_PASSES_SHARDING_SHAREDHEADS_H
