// The choices that a memory budget decides before recomputation does, and the
// phases behind fusion of a pipeline under a budget.
#include "compiler/Driver/Phases.h"
#include "compiler/Export/FlightPlan.h"
#include "dialects/Train/Gathered.h"
#include "passes/Analysis/ProgramParts.h"
#include "passes/Analysis/Roles.h"
#include "passes/Pipeline/Passes.h"
#include "runtime/Plan/Axes.h"
#include "runtime/Plan/Order/Versions.h"

using namespace mlir;
using namespace zc;

LogicalResult Phases::fitRoles() {
  // Recomputation changes how deep the rings must be, which is known only once
  // it has been chosen.
  constexpr int kMostAttempts = 6;
  OwningOpRef<ModuleOp> fused = module->clone();
  RecomputePassOptions recompute = passes.recompute;
  // How deep the rings must be, and whether all is well without a choice.
  recompute.budget = 0;
  std::vector<Gathered> rooms(getRoles(*module).size(), mayKeepGathered()
                                                            ? Gathered::All
                                                            : Gathered::Not);
  for (ModuleOp role : getRoles(*module))
    if (mayKeepGathered())
      keepGathered(role, options.accumulate);
  std::vector<Peak> peaks;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    if (failed(scheduleFused(recompute)) || failed(measureRoles(peaks)))
      return failure();
    if (llvm::all_of(peaks, [&](const Peak &peak) {
          return peak.total() <= options.memoryBudget;
        }))
      return success();
    if (attempt + 1 == kMostAttempts)
      break;
    OwningOpRef<ModuleOp> next = fused->clone();
    for (auto [from, to] : llvm::zip(getRoles(*module), getRoles(*next)))
      to->setAttr(kRingSlotsAttr, from->getAttr(kRingSlotsAttr));
    module = std::move(next);
    // Nothing is computed again where gathering more often is enough.
    if (!giveUpGathers(peaks, rooms))
      recompute = passes.recompute;
  }
  for (auto [role, peak] : llvm::zip(getRoles(*module), peaks))
    if (peak.total() > options.memoryBudget)
      return refuseRole(role, peak);
  return success();
}

/// Lets roles that are too large keep fewer units gathered. Returns whether any
/// role gave up some.
bool Phases::giveUpGathers(ArrayRef<Peak> peaks, std::vector<Gathered> &rooms) {
  bool gaveUp = false;
  for (auto [index, role] : llvm::enumerate(getRoles(*module))) {
    Gathered &room = rooms[index];
    if (room != Gathered::Not && peaks[index].total() > options.memoryBudget) {
      const bool mayShare = room == Gathered::All && countChunks(role) > 1;
      room = mayShare ? Gathered::Shared : Gathered::Not;
      gaveUp = true;
    }
    keepGathered(role, options.accumulate, room);
  }
  return gaveUp;
}

LogicalResult Phases::fitGathers() {
  OwningOpRef<ModuleOp> fused = module->clone();
  keepGathered(*module, options.accumulate);
  RecomputePassOptions free = passes.recompute;
  free.budget = 0;
  if (free.offload == "auto")
    free.offload = "";
  if (failed(scheduleFused(free)))
    return failure();
  if (readPeak(*module).total() <= options.memoryBudget)
    return success();
  module = std::move(fused);
  return scheduleFused(passes.recompute);
}

std::string Phases::chooseSequenceParallel() {
  if (options.sequenceParallel != "auto")
    return options.sequenceParallel;
  if (options.memoryBudget <= 0 || options.getAxisSize(axes::kTensor) == 1)
    return "off";
  ScopedTime time(times, "try without divided residuals");
  for (const char *mode : {"off", "on=kept"})
    if (fitsWithoutRecomputing(mode))
      return mode;
  return "on";
}

bool Phases::fitsWithoutRecomputing(const std::string &sequenceParallel) {
  CompileOptions trial = options;
  trial.sequenceParallel = sequenceParallel;
  trial.memoryBudget = 0;
  trial.verbose = false;
  trial.dumpIr.clear();
  if (mayKeepGathered())
    trial.reshardEvery = "1"; // to gather more often costs less yet
  Phases phases(module->clone(), trial);
  phases.pipeline = pipeline;
  phases.passes.delays = passes.delays;
  phases.passes.roles = passes.roles;
  if (failed(phases.divide()) || failed(phases.schedule()))
    return false;
  std::vector<Peak> peaks;
  if (options.getAxisSize(axes::kRole) == 1)
    peaks.push_back(readPeak(*phases.module));
  else if (failed(phases.measureRoles(peaks)))
    return false;
  return llvm::all_of(peaks, [&](const Peak &peak) {
    return peak.total() <= options.memoryBudget;
  });
}

bool Phases::mayKeepGathered() const {
  return options.zero == 3 && options.accumulate > 1 &&
         options.getNumRanks() > 1 && !isWithoutFlush(options.schedule) &&
         (options.reshardEvery.empty() || options.reshardEvery == "auto");
}

void Phases::keepGathered(ModuleOp role, int64_t microBatches, Gathered room) {
  if (microBatches <= 1 || room == Gathered::Not)
    return;
  role->setAttr(kReshardEveryAttr,
                Builder(context).getI64IntegerAttr(microBatches));
  // A role that gathers more often than once a step saves memory.
  if (countChunks(role) > 1 &&
      (room == Gathered::Shared || microBatches < options.accumulate))
    role->setAttr(train::kSharesUnitsAttr, UnitAttr::get(context));
}

LogicalResult Phases::refuseRole(ModuleOp role, const Peak &peak) {
  return role.emitError("role ")
         << role->getAttrOfType<IntegerAttr>(train::kRoleAttr).getInt()
         << " of the pipeline: the plan takes " << printBytes(peak.total())
         << ", " << printBytes(peak.total() - options.memoryBudget)
         << " more than the " << printBytes(options.memoryBudget)
         << " of --memory-budget; " << printBytes(peak.persistent)
         << " of it live from step to step, " << printBytes(peak.flight)
         << " are kept for micro-batches under way, "
         << printBytes(peak.transient) << " are values of "
         << peak.ownerOfTransient("one of them")
         << "; what would help: a smaller batch or more micro-batches "
            "(--accumulate K); more stages (--mesh pp=N), or other ones "
            "(--stages FILE)";
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
