//===- MarkDelays.cpp - --zc-mark-delays ----------------------------------===//
//
// The version of a parameter that a step reads follows from the stage that
// reads it. From here on, neither how stages are dealt to roles nor the order
// of their work says anything about it.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/StateLookup.h"
#include "dialects/Train/Versions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Pipeline/Passes.h"

#include <set>

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_MARKDELAYSPASS
#include "passes/Pipeline/Passes.h.inc"

namespace {

struct MarkDelays : public impl::MarkDelaysPassBase<MarkDelays> {
  using MarkDelaysPassBase::MarkDelaysPassBase;

  void runOnOperation() override {
    auto step = getOperation().lookupSymbol<func::FuncOp>(kStepProgram);
    if (!step) {
      getOperation().emitError("expected @step");
      return signalPassFailure();
    }
    if (delays.empty()) {
      getOperation().emitError("expected the delays of stages");
      return signalPassFailure();
    }
    for (BlockArgument argument : step.getArguments()) {
      StateOp state = findState(argument);
      if (state && (state.getKind() == kParameter || state.getKind() == kCopy))
        if (failed(mark(state, argument)))
          return signalPassFailure();
    }
    getOperation()->setAttr(kNoFlushAttr, UnitAttr::get(&getContext()));
    if (oneRole)
      forgetStages();
  }

private:
  /// The stages of the ops that read the value, or what follows from it alone.
  static void findStages(Value value, std::set<int64_t> &stages) {
    for (Operation *user : value.getUsers())
      if (auto stage = user->getAttrOfType<IntegerAttr>(kStageAttr))
        stages.insert(stage.getInt());
      else
        for (Value result : user->getResults())
          findStages(result, stages);
  }

  LogicalResult mark(StateOp state, Value argument) {
    std::set<int64_t> readers;
    findStages(argument, readers);
    if (readers.size() > 1 && !oneRole)
      return state.emitError("'")
             << state.getSymName() << "' is read by stages " << *readers.begin()
             << " and " << *readers.rbegin()
             << ", whose gradients of it would have to be added up before each "
                "update, which no schedule without flush waits for; give its "
                "nodes one stage with --stages, or use --schedule 1f1b";
    // On one rank, a state of several stages is as old as in the first of them;
    // one of no stage is as old as in the last.
    size_t stage = readers.empty() ? delays.size() - 1 : *readers.begin();
    if (stage >= delays.size())
      return state.emitError("'") << state.getSymName() << "' is read by stage "
                                  << stage << " of " << delays.size();
    if (int64_t delay = delays[stage])
      state.setDelay(delay);
    return success();
  }

  void forgetStages() {
    getOperation()->removeAttr(kStageSecondsAttr);
    getOperation().walk([](Operation *op) { op->removeAttr(kStageAttr); });
  }
};

} // namespace
} // namespace zc
