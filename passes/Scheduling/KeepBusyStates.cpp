//===- KeepBusyStates.cpp - --zc-keep-busy-states -------------------------===//
//
// It is decided before small launches are joined: those that touch what is
// copied stand alone, and what stays need not cost launches.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/Notes.h"
#include "passes/Scheduling/OffloadUses.h"
#include "passes/Scheduling/Passes.h"
#include "passes/Scheduling/TrainProgram.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace zc::sched;

namespace zc {
#define GEN_PASS_DEF_KEEPBUSYSTATESPASS
#include "passes/Scheduling/Passes.h.inc"

namespace {

struct KeepBusyStates : impl::KeepBusyStatesPassBase<KeepBusyStates> {
  void runOnOperation() override {
    if (!getOperation()->removeAttr(kKeepsBusyAttr))
      return;
    const size_t all = listOffloaded().size();
    SymbolTable symbols(getOperation());
    for (StringRef name : {train::kStepProgram, train::kMicroProgram})
      if (auto program = symbols.lookup<ProgramOp>(name))
        keepOf(program, symbols);
    numKept = kept;
    if (kept > 0)
      say(all);
  }

private:
  SmallVector<train::StateOp> listOffloaded() {
    const train::StateKind weights = getWeightKind(getOperation());
    SmallVector<train::StateOp> states;
    for (auto state : getOperation().getOps<train::StateOp>())
      if (state.getOffloaded() && !state.getHostUpdate() &&
          state.getKind() == weights)
        states.push_back(state);
    return states;
  }

  void keepOf(ProgramOp program, SymbolTable &symbols) {
    SmallVector<train::StateOp> weights = listOffloaded();
    for (Value root : OffloadUses(program).findBusyStates()) {
      auto state = symbols.lookup<train::StateOp>(
          cast<sched::StateOp>(root.getDefiningOp()).getState());
      if (!llvm::is_contained(weights, state))
        continue;
      state.setOffloaded(false);
      bytes += getByteSize(state.getTensorType());
      ++kept;
    }
  }

  void say(size_t all) {
    const bool one = kept == 1;
    dist::addNote(
        getOperation(),
        llvm::formatv("{0} of {1} parameter{6} to offload, {2:F2} MiB, {3} on "
                      "the device: steps begin with {4}, before {5} could be "
                      "there; a --memory-budget that this does not fit moves "
                      "{4}",
                      kept, all, double(bytes) / (1 << 20),
                      one ? "stays" : "stay", one ? "it" : "them",
                      one ? "it" : "they", all == 1 ? "" : "s")
            .str());
  }

  size_t kept = 0;
  int64_t bytes = 0;
};

} // namespace
} // namespace zc
