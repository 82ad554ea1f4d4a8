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

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace zc::sched;

namespace zc {
#define GEN_PASS_DEF_KEEPBUSYSTATESPASS
#include "passes/Scheduling/Passes.h.inc"

namespace {

/// The weights of forward and backward that are offloaded, but for those that
/// the host updates where they lie.
SmallVector<train::StateOp> listOffloadedWeights(ModuleOp module) {
  const train::StateKind weights = getWeightKind(module);
  SmallVector<train::StateOp> states;
  for (auto state : module.getOps<train::StateOp>())
    if (state.getOffloaded() && !state.getHostUpdate() &&
        state.getKind() == weights)
      states.push_back(state);
  return states;
}

/// The weights that a program of a micro-batch begins with. Each program is
/// seen alone, for its copies begin and end with it.
SmallVector<train::StateOp> findBusy(ModuleOp module,
                                     ArrayRef<train::StateOp> weights) {
  llvm::SetVector<StringRef> names;
  for (ProgramOp program : module.getOps<ProgramOp>())
    if (isOfMicroBatch(program.getSymName()))
      for (Value root : OffloadUses(program).findBusyStates())
        names.insert(cast<sched::StateOp>(root.getDefiningOp()).getState());
  SmallVector<train::StateOp> busy;
  for (train::StateOp state : weights)
    if (names.contains(state.getSymName()))
      busy.push_back(state);
  return busy;
}

std::string describe(ArrayRef<train::StateOp> busy, size_t all, int64_t bytes) {
  std::vector<std::string> names;
  for (train::StateOp state : busy)
    names.push_back(state.getSymName().str());
  const bool one = names.size() == 1;
  return llvm::formatv(
      "{0} of {1} parameter{2} to offload stay{3} on the device ({4}; {5:F2} "
      "MiB): steps or micro-batches begin with {6}, and {7} would come too "
      "late; a --memory-budget without room for {6} moves {6}, too",
      names.size(), all, all == 1 ? "" : "s", one ? "s" : "",
      dist::listNames(names), double(bytes) / (1 << 20), one ? "it" : "them",
      one ? "a copy" : "copies");
}

struct KeepBusyStates : impl::KeepBusyStatesPassBase<KeepBusyStates> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!module->removeAttr(kKeepsBusyAttr))
      return;
    SmallVector<train::StateOp> weights = listOffloadedWeights(module);
    SmallVector<train::StateOp> busy = findBusy(module, weights);
    if (busy.empty())
      return;
    int64_t bytes = 0;
    for (train::StateOp state : busy) {
      state.setOffloaded(false);
      bytes += getByteSize(state.getTensorType());
    }
    numKept += busy.size();
    module->setAttr(kStayingAttr,
                    Builder(&getContext()).getI64IntegerAttr(bytes));
    dist::addNote(module, describe(busy, weights.size(), bytes));
  }
};

} // namespace
} // namespace zc
