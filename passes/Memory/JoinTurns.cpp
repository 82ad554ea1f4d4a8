//===- JoinTurns.cpp - turns round a ring, in one -------------------------===//
//
// A part that a ring of ranks hands on has come in many turns, behind blocks of
// attention. Made again, it can come from where it began in one.
//
//===----------------------------------------------------------------------===//
#include "passes/Memory/JoinTurns.h"

#include "passes/Scheduling/RingTurns.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

static dist::SendReceiveOp getTurn(FusedOp op) {
  return op && op.getInputs().size() == 1 && op.getNumResults() == 1
             ? getSend(op)
             : nullptr;
}

std::optional<Turn> joinTurns(FusedOp op,
                              llvm::function_ref<bool(Value)> isKept) {
  dist::SendReceiveOp last = getTurn(op);
  if (!last)
    return std::nullopt;
  Turn turn{op.getInputs()[0], last.getDistance()};
  while (!isKept(turn.begin)) {
    auto maker = turn.begin.getDefiningOp<FusedOp>();
    dist::SendReceiveOp before = getTurn(maker);
    if (!before || before.getAxes() != last.getAxes())
      break;
    turn = {maker.getInputs()[0], turn.shift + before.getDistance()};
  }
  return turn;
}

void setShift(FusedOp turn, int64_t shift) { getTurn(turn).setShift(shift); }

} // namespace zc
