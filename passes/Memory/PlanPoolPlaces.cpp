//===- PlanPoolPlaces.cpp - --zc-plan-pool-places -------------------------===//
//
// It is decided early what a max pool keeps; whether an encoding lowers the
// peak is known only at the end. So the step is planned to its end in both
// ways.
//
//===----------------------------------------------------------------------===//
#include "passes/Memory/KeptEncoder.h"
#include "passes/Memory/MeasurePeak.h"
#include "passes/Memory/Passes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_PLANPOOLPLACESPASS
#include "passes/Memory/Passes.h.inc"

namespace {

bool readsPooledImages(ModuleOp module) {
  return module.walk([](MaxPoolGradOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

struct PlanPoolPlacesPassImpl
    : impl::PlanPoolPlacesPassBase<PlanPoolPlacesPassImpl> {
  using PlanPoolPlacesPassBase::PlanPoolPlacesPassBase;
  PlanPoolPlacesPassImpl(const PlanPoolPlacesPassOptions &options,
                         const PoolPlans &plans)
      : PlanPoolPlacesPassBase(options), plans(plans) {}

  void runOnOperation() override {
    std::string wrong;
    if (!plans)
      wrong = "nothing says how a step is planned from its max pools on; run "
              "--zc-plan-pools";
    if (!plans || !parseEncodings(encodings, wrong)) {
      getOperation().emitError(wrong);
      return signalPassFailure();
    }
    OwningOpRef<ModuleOp> copy = getOperation().clone();
    if (failed(runUnverified(*copy, plans->exact.pools)))
      return signalPassFailure();
    // If no pool keeps its image, both ways have the same pools.
    const bool isExact = readsPooledImages(*copy) && choosesExact();
    if (failed(runPipeline(isExact ? plans->exact.pools : plans->rounded.pools,
                           getOperation())))
      signalPassFailure();
  }

private:
  /// Marks the module for the passes that follow. The plans that are measured
  /// here carry kPlainPeakAttr, too, so that their passes decide as those will.
  bool choosesExact() {
    if (std::optional<int64_t> plain = measure(plans->plain))
      getOperation()->setAttr(
          kPlainPeakAttr,
          IntegerAttr::get(IntegerType::get(&getContext(), 64), *plain));
    std::optional<int64_t> most = measure(plans->rounded),
                           least = measure(plans->exact);
    if (!least || (most && *most < *least))
      return false;
    getOperation()->setAttr(kExactEncodingsAttr, UnitAttr::get(&getContext()));
    return true;
  }

  /// None if the plan cannot be made. The passes that follow will say why.
  std::optional<int64_t> measure(const PoolPlan &plan) {
    ScopedDiagnosticHandler silent(&getContext(),
                                   [](Diagnostic &) { return success(); });
    OwningOpRef<ModuleOp> copy = getOperation().clone();
    if (failed(runUnverified(*copy, plan.pools)) ||
        failed(runUnverified(*copy, plan.rest)))
      return std::nullopt;
    return readPeak(*copy).total();
  }

  std::optional<PoolPlans> plans; // none: the pass stands alone
};

} // namespace

std::unique_ptr<Pass>
createPlanPoolPlacesPass(const PlanPoolPlacesPassOptions &options,
                         const PoolPlans &plans) {
  return std::make_unique<PlanPoolPlacesPassImpl>(options, plans);
}

} // namespace zc
