//===- RingTurns.cpp - turns of what goes round ranks ---------------------===//
#include "passes/Scheduling/RingTurns.h"

#include "passes/Analysis/Views.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

dist::SendReceiveOp getSend(FusedOp op) {
  return dyn_cast<dist::SendReceiveOp>(op.getBody().front().front());
}

bool goesRound(FusedOp op) {
  dist::SendReceiveOp send = getSend(op);
  return send && dist::getPass(send);
}

static bool attends(FusedOp op) {
  return llvm::any_of(op.getBody().front(), [](Operation &inner) {
    return isa<AttentionOp, AttentionGradOp>(inner);
  });
}

/// Whether what is made of a part, or of a block's gradients, is still for that
/// block, or for that part: sums over blocks are not, nor what others are sent.
static bool isOfOneBlock(FusedOp op) {
  return !attends(op) && !getSend(op) && !op.getRunningSum();
}

/// The ops of a kind that read values, or what is made of them for one block: a
/// part is repeated for its queries, halved, and halves are chosen; a block's
/// terms are put together, summed over what was repeated, and added.
static SmallVector<FusedOp>
findReaders(ValueRange values, llvm::function_ref<bool(FusedOp)> isMeant) {
  llvm::SmallSetVector<FusedOp, 4> found;
  llvm::SmallSetVector<Value, 8> read(values.begin(), values.end());
  for (size_t next = 0; next < read.size(); ++next) // it grows
    for (Operation *user : read[next].getUsers()) {
      auto op = dyn_cast<FusedOp>(user);
      if (op && isMeant(op))
        found.insert(op);
      else if (op ? isOfOneBlock(op) : bool(getViewed(user)))
        read.insert(user->result_begin(), user->result_end());
    }
  return found.takeVector();
}

SmallVector<FusedOp> findBlocks(Value part) {
  return findReaders(part, attends);
}

SmallVector<FusedOp> findSends(FusedOp block) {
  return findReaders(block.getResults(),
                     [](FusedOp op) { return getSend(op) && !goesRound(op); });
}

void forEachTurnOrder(FusedOp turn,
                      llvm::function_ref<void(FusedOp, FusedOp)> body) {
  const SmallVector<FusedOp> blocks = findBlocks(turn.getResult(0));
  auto before = [&](FusedOp op) {
    for (FusedOp block : blocks)
      body(op, block);
  };
  for (FusedOp earlier : findBlocks(turn.getInputs()[0])) {
    before(earlier);
    llvm::for_each(findSends(earlier), before);
  }
}

} // namespace zc
