//===- PlanPoolPlaces.cpp - --zc-plan-pool-places -------------------------===//
//
// Whether an encoding lowers the plan is known when all is planned, but pools
// become others long before. So both ways are planned to their end.
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
                         PoolPlanner planner)
      : PlanPoolPlacesPassBase(options), planner(std::move(planner)) {}

  void runOnOperation() override {
    std::string wrong;
    if (!planner)
      wrong = "nothing says how a step is planned from its max pools on";
    if (!planner || !parseEncodings(encodings, wrong)) {
      getOperation().emitError(wrong);
      return signalPassFailure();
    }
    PoolPlan exact = planner(withoutRounding(encodings), false);
    PoolPlan rounded = planner(encodings, true);
    OwningOpRef<ModuleOp> copy = getOperation().clone();
    if (failed(runUnverified(*copy, exact.pools)))
      return signalPassFailure();
    // Else the pools are the same in both ways.
    const bool isExact =
        readsPooledImages(*copy) && choosesExact(exact, rounded);
    if (failed(
            runPipeline(isExact ? exact.pools : rounded.pools, getOperation())))
      signalPassFailure();
  }

private:
  /// Marks the module for the passes behind. Those of the plans that are
  /// measured see the plain peak, too, so that they decide as these will.
  bool choosesExact(const PoolPlan &exact, const PoolPlan &rounded) {
    if (std::optional<int64_t> plain = measure(planner(std::nullopt, false)))
      getOperation()->setAttr(
          kPlainPeakAttr,
          IntegerAttr::get(IntegerType::get(&getContext(), 64), *plain));
    std::optional<int64_t> most = measure(rounded), least = measure(exact);
    if (!least || (most && *most < *least))
      return false;
    getOperation()->setAttr(kExactEncodingsAttr, UnitAttr::get(&getContext()));
    return true;
  }

  /// None where there is no such plan, of which the passes behind tell.
  std::optional<int64_t> measure(const PoolPlan &plan) {
    ScopedDiagnosticHandler silent(&getContext(),
                                   [](Diagnostic &) { return success(); });
    OwningOpRef<ModuleOp> copy = getOperation().clone();
    if (failed(runUnverified(*copy, plan.pools)) ||
        failed(runUnverified(*copy, plan.rest)))
      return std::nullopt;
    return readPeak(*copy).total();
  }

  PoolPlanner planner;
};

} // namespace

std::unique_ptr<Pass>
createPlanPoolPlacesPass(const PlanPoolPlacesPassOptions &options,
                         PoolPlanner planner) {
  return std::make_unique<PlanPoolPlacesPassImpl>(options, std::move(planner));
}

} // namespace zc
