// The phases behind fusion of a pipeline under a memory budget.
#include "compiler/Driver/Phases.h"
#include "compiler/Export/FlightPlan.h"
#include "passes/Analysis/Roles.h"
#include "passes/Pipeline/Passes.h"

using namespace mlir;
using namespace zc;

LogicalResult Phases::fitRoles(
    const RecomputePassOptions &memory,
    const std::function<void(OpPassManager &, const RecomputePassOptions &)>
        &addRest) {
  // What recomputation changes in the rings is known once it has been chosen.
  constexpr int kMostAttempts = 4;
  OwningOpRef<ModuleOp> fused = module->clone();
  RecomputePassOptions recompute = memory;
  // How deep the rings must be, and whether all is well without a choice.
  recompute.budget = 0;
  std::vector<Peak> peaks;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    if (failed(run(
            "sched",
            [&](OpPassManager &manager) { addRest(manager, recompute); })) ||
        failed(measureRoles(peaks)))
      return failure();
    if (llvm::all_of(peaks, [&](const Peak &peak) {
          return peak.total() <= memory.budget;
        }))
      return success();
    if (attempt + 1 == kMostAttempts)
      break;
    OwningOpRef<ModuleOp> next = fused->clone();
    for (auto [from, to] : llvm::zip(getRoles(*module), getRoles(*next)))
      to->setAttr(kRingSlotsAttr, from->getAttr(kRingSlotsAttr));
    module = std::move(next);
    recompute = memory;
  }
  for (auto [role, peak] : llvm::zip(getRoles(*module), peaks))
    if (peak.total() > memory.budget)
      return refuseRole(role, peak);
  return success();
}

LogicalResult Phases::refuseRole(ModuleOp role, const Peak &peak) {
  return role.emitError("role ")
         << role->getAttrOfType<IntegerAttr>(train::kRoleAttr).getInt()
         << " of the pipeline: the plan takes " << printBytes(peak.total())
         << ", " << printBytes(peak.total() - options.memoryBudget)
         << " more than the " << printBytes(options.memoryBudget)
         << " of --memory-budget; " << printBytes(peak.persistent)
         << " of it live from step to step, " << printBytes(peak.flight)
         << " are kept for micro-batches under way; what would help: a smaller "
            "batch or more micro-batches (--accumulate K); more stages (--mesh "
            "pp=N), or other ones (--stages FILE)";
}

/// The bytes of every role, whose programs have offsets. Keeps the slots of
/// their rings for the next attempt: of each ring the most that were needed.
LogicalResult Phases::measureRoles(std::vector<Peak> &peaks) {
  OrderOptions orders;
  orders.schedule = options.schedule;
  orders.given = &pipeline;
  orders.microBatches = uint32_t(options.accumulate);
  Result<std::vector<RoleFlight>> flights = planFlights(*module, orders);
  if (!flights.ok())
    return module->emitError("internal error in phase 'sched': ")
           << flights.status().message();
  peaks.clear();
  Builder builder(context);
  for (auto [role, flight] : llvm::zip(getRoles(*module), *flights)) {
    Peak &peak = peaks.emplace_back(readPeak(role));
    peak.flight = int64_t(flight.bytes);
    NamedAttrList slots(role->getAttrOfType<DictionaryAttr>(kRingSlotsAttr));
    for (const auto &[ring, count] : flight.slots) {
      auto known = dyn_cast_or_null<IntegerAttr>(slots.get(ring));
      if (!known || known.getInt() < int64_t(count))
        slots.set(ring, builder.getI64IntegerAttr(count));
    }
    role->setAttr(kRingSlotsAttr, slots.getDictionary(context));
  }
  return success();
}
