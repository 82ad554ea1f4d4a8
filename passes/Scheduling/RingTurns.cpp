//===- RingTurns.cpp - turns of what goes round ranks ---------------------===//
#include "passes/Scheduling/RingTurns.h"

#include "dialects/Dist/DistDialect.h"
#include "passes/Analysis/Views.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

/// Ops between a part and a block: it is halved, and halves are chosen.
static constexpr int kMostBetween = 3;

bool goesRound(FusedOp op) {
  Operation &inner = op.getBody().front().front();
  return isa<dist::SendReceiveOp>(inner) && inner.hasAttr(dist::kPassAttr);
}

static bool attends(FusedOp op) {
  return llvm::any_of(op.getBody().front(), [](Operation &inner) {
    return isa<AttentionOp, AttentionGradOp>(inner);
  });
}

SmallVector<FusedOp> findBlocks(Value part) {
  llvm::SmallSetVector<FusedOp, 4> blocks;
  SmallVector<std::pair<Value, int>> read = {{part, 0}};
  while (!read.empty()) {
    const auto [value, between] = read.pop_back_val();
    for (Operation *user : value.getUsers()) {
      auto op = dyn_cast<FusedOp>(user);
      if (op && attends(op))
        blocks.insert(op);
      else if (op && between < kMostBetween && !goesRound(op))
        for (Value result : op.getResults())
          read.push_back({result, between + 1});
      else if (!op && getViewed(user))
        read.push_back({user->getResult(0), between});
    }
  }
  return blocks.takeVector();
}

} // namespace zc
