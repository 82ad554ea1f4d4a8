//===- RingTurns.cpp - turns of what goes round ranks ---------------------===//
#include "passes/Scheduling/RingTurns.h"

#include "passes/Analysis/Views.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

/// Ops between a part and a block: it is halved, and halves are chosen. Between
/// a block and what it sends: terms are put together, and added.
static constexpr int kMostBetween = 3;

dist::SendReceiveOp getSend(FusedOp op) {
  return dyn_cast<dist::SendReceiveOp>(op.getBody().front().front());
}

bool goesRound(FusedOp op) {
  dist::SendReceiveOp send = getSend(op);
  return send && send->hasAttr(dist::kPassAttr);
}

static bool attends(FusedOp op) {
  return llvm::any_of(op.getBody().front(), [](Operation &inner) {
    return isa<AttentionOp, AttentionGradOp>(inner);
  });
}

/// The ops of a kind that read values, or what few others make of them.
static SmallVector<FusedOp>
findReaders(ValueRange values, llvm::function_ref<bool(FusedOp)> isMeant) {
  llvm::SmallSetVector<FusedOp, 4> found;
  SmallVector<std::pair<Value, int>> read;
  for (Value value : values)
    read.push_back({value, 0});
  while (!read.empty()) {
    const auto [value, between] = read.pop_back_val();
    for (Operation *user : value.getUsers()) {
      auto op = dyn_cast<FusedOp>(user);
      if (op && isMeant(op))
        found.insert(op);
      else if (op && between < kMostBetween && !getSend(op))
        for (Value result : op.getResults())
          read.push_back({result, between + 1});
      else if (!op && getViewed(user))
        read.push_back({user->getResult(0), between});
    }
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

} // namespace zc
