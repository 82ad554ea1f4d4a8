//===- RollAmax.cpp - --zc-roll-amax --------------------------------------===//
#include "dialects/Train/Float8Ops.h"
#include "dialects/Train/ProgramBuilder.h"
#include "passes/Precision/AmaxHistory.h"
#include "passes/Precision/Float8Passes.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_ROLLAMAXPASS
#include "passes/Precision/Float8Passes.h.inc"

namespace {

struct RollAmax : public impl::RollAmaxPassBase<RollAmax> {
  void runOnOperation() override {
    auto apply = getOperation().lookupSymbol<func::FuncOp>(kApplyProgram);
    auto step = getOperation().lookupSymbol<func::FuncOp>(kStepProgram);
    if (!apply && !step) {
      getOperation().emitError("expected @step or @apply");
      return signalPassFailure();
    }
    for (auto state : getOperation().getOps<StateOp>())
      if (isAmaxHistory(state)) {
        apply ? endStep(apply, state) : endStep(step, state);
        ++numRolled;
      }
  }

private:
  /// The last program of a step, which may have given the state a new value
  /// itself.
  static void endStep(func::FuncOp program, StateOp state) {
    Operation *end = program.getBody().front().getTerminator();
    OpBuilder builder(end);
    auto symbol = FlatSymbolRefAttr::get(state.getSymNameAttr());
    for (unsigned i = 0; i < program.getNumResults(); ++i)
      if (program.getResultAttr(i, kStateAttr) == symbol) {
        end->setOperand(
            i, rollHistory(builder, state.getLoc(), end->getOperand(i)));
        return;
      }
    Value history = getStateArgument(program, state);
    addResult(program, rollHistory(builder, state.getLoc(), history),
              bindTo(state));
  }
};

} // namespace
} // namespace zc
