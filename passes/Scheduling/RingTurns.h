//===- RingTurns.h - turns of what goes round ranks -------------*- C++ -*-===//
#ifndef ZC_PASSES_SCHEDULING_RINGTURNS_H
#define ZC_PASSES_SCHEDULING_RINGTURNS_H

#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/TrainDialect.h"

namespace zc {

/// The send that an op is alone; null if it is none.
dist::SendReceiveOp getSend(train::FusedOp op);

/// Whether a rank hands on what it was handed: one part on its way is enough.
bool goesRound(train::FusedOp op);

/// The blocks of attention that read a part of keys or values, or what is made
/// of it for them.
llvm::SmallVector<train::FusedOp> findBlocks(mlir::Value part);

/// The sends of the gradients that a block gives for a part.
llvm::SmallVector<train::FusedOp> findSends(train::FusedOp block);

/// Calls `body` for each block that reads what a rank was handed, with each op
/// that comes before it: the blocks that read what it handed on, and what these
/// send.
void forEachTurnOrder(
    train::FusedOp turn,
    llvm::function_ref<void(train::FusedOp before, train::FusedOp block)> body);

} // namespace zc

#endif // ZC_PASSES_SCHEDULING_RINGTURNS_H
