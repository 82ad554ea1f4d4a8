//===- AddVersions.cpp - --zc-add-versions --------------------------------===//
//
// After fusion, where states are still names: the planner of buffers sees that
// the update reads and writes different states, and the forward and the
// backward read a third one, so that nothing is written in place.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/ProgramBuilder.h"
#include "dialects/Train/StateLookup.h"
#include "dialects/Train/Versions.h"
#include "passes/Pipeline/Passes.h"

#include <algorithm>

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_ADDVERSIONSPASS
#include "passes/Pipeline/Passes.h.inc"

namespace {

struct AddVersions : public impl::AddVersionsPassBase<AddVersions> {
  void runOnOperation() override {
    SmallVector<StateOp> delayed;
    int64_t most = 0;
    for (auto state : getOperation().getOps<StateOp>())
      if (int64_t delay = getDelay(state)) {
        delayed.push_back(state);
        most = std::max(most, delay);
      }
    if (delayed.empty())
      return;
    micro = getOperation().lookupSymbol<func::FuncOp>(kMicroProgram);
    apply = getOperation().lookupSymbol<func::FuncOp>(kApplyProgram);
    if (!micro || !apply) {
      getOperation().emitError("expected @micro and @apply, from "
                               "--zc-accumulate-gradients");
      return signalPassFailure();
    }
    for (StateOp state : delayed)
      if (failed(addVersions(state)))
        return signalPassFailure();
    getOperation()->setAttr(kVersionsAttr,
                            Builder(&getContext()).getI64IntegerAttr(most + 1));
  }

private:
  /// A state that stands for one version of `state`.
  StateOp addVersion(StateOp state, StringRef name, int64_t age) {
    StateOp version = addState(
        getOperation(), ("version." + name + "." + state.getSymName()).str(),
        state.getTensorType(), state.getKind(), state.getLoc());
    for (StringRef division : {dist::kShardingAttr, dist::kWholeAttr})
      if (Attribute attribute = state->getAttr(division))
        version->setAttr(division, attribute);
    version.setVersionOf(state.getSymName());
    version.setVersionAge(age);
    return version;
  }

  LogicalResult addVersions(StateOp state) {
    auto symbol = FlatSymbolRefAttr::get(state.getSymNameAttr());
    if (findResult(micro, symbol))
      return state.emitError("'")
             << state.getSymName() << "' is written by each micro-batch, so "
             << "that there are no versions of it by step";
    for (unsigned i = 0; i < micro.getNumArguments(); ++i)
      if (micro.getArgAttr(i, kStateAttr) == symbol)
        micro.setArgAttr(
            i, kStateAttr,
            FlatSymbolRefAttr::get(
                addVersion(state, "read", getDelay(state)).getSymNameAttr()));
    std::optional<unsigned> written = findResult(apply, symbol);
    if (!written)
      return state.emitError("'")
             << state.getSymName() << "' is not updated by @" << kApplyProgram;
    apply.setResultAttr(*written, kStateAttr,
                        FlatSymbolRefAttr::get(
                            addVersion(state, "written", -1).getSymNameAttr()));
    return success();
  }

  static std::optional<unsigned> findResult(func::FuncOp program,
                                            Attribute state) {
    for (unsigned i = 0; i < program.getNumResults(); ++i)
      if (program.getResultAttr(i, kStateAttr) == state)
        return i;
    return std::nullopt;
  }

  func::FuncOp micro, apply;
};

} // namespace
} // namespace zc
