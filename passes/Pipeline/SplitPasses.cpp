//===- SplitPasses.cpp - --zc-split-passes --------------------------------===//
//
// Behind recomputation, so that what is kept is known; in front of scheduling,
// so that each pass gets an order and memory of its own. Tensors that outlive a
// program are states already; those that outlive it for one micro-batch become
// states of kind flight, one in each slot of a ring.
//
//===----------------------------------------------------------------------===//
#include "dialects/Sched/SchedDialect.h"
#include "dialects/Train/TrainDialect.h"
#include "passes/Analysis/Rings.h"
#include "passes/Pipeline/CutProgram.h"
#include "passes/Pipeline/Passes.h"

#include <algorithm>

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_SPLITPASSESPASS
#include "passes/Pipeline/Passes.h.inc"

namespace {

struct SplitPasses : public impl::SplitPassesPassBase<SplitPasses> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!module->hasAttr(kRoleAttr))
      return;
    if (auto eval = module.lookupSymbol<func::FuncOp>(kEvalProgram);
        eval && failed(cutProgram(eval)))
      return signalPassFailure();
    auto micro = module.lookupSymbol<func::FuncOp>(kMicroProgram);
    if (!micro) {
      module.emitError("expected @micro, from --zc-accumulate-gradients");
      return signalPassFailure();
    }
    if (module->hasAttr(kKeepWholeAttr)) {
      bindMessages(micro);
      return;
    }
    FailureOr<unsigned> stashed = cutProgram(micro);
    if (failed(stashed))
      return signalPassFailure();
    numStashed += *stashed;
  }
};

} // namespace

/// How many slots a ring has; see countFlightBytes().
static int64_t countSlots(ModuleOp role, StringAttr ring) {
  auto known = role->getAttrOfType<DictionaryAttr>(kRingSlotsAttr);
  if (auto slots = known ? known.getAs<IntegerAttr>(ring) : IntegerAttr())
    return slots.getInt();
  auto inFlight = role->getAttrOfType<IntegerAttr>(kInFlightAttr);
  if (inFlight && !isTransitRing(ring))
    return inFlight.getInt() + ring.getValue().starts_with(kActivationsKept);
  return 2;
}

int64_t countFlightBytes(ModuleOp role) {
  auto rings = role->getAttrOfType<DictionaryAttr>(sched::kRingsAttr);
  if (!rings)
    return 0;
  // The rings of evaluation lie where those of training do.
  int64_t training = 0, evaluation = 0;
  for (NamedAttribute ring : rings) {
    if (isOffloadedRing(ring.getName()))
      continue;
    int64_t bytes = countSlots(role, ring.getName()) *
                    cast<IntegerAttr>(ring.getValue()).getInt();
    (isEvalRing(ring.getName()) ? evaluation : training) += bytes;
  }
  return std::max(training, evaluation);
}

} // namespace zc
