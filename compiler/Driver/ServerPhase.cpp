//===- ServerPhase.cpp - the schedule of a parameter server ---------------===//
#include "compiler/Driver/Phases.h"

#include "dialects/Train/StateLookup.h"
#include "passes/Analysis/Roles.h"
#include "passes/Memory/MeasurePeak.h"

using namespace mlir;
using namespace zc;

/// The plan was measured of what the server and its workers have in common;
/// each of them alone may need more.
static LogicalResult checkBudget(ModuleOp role, int64_t budget) {
  const Peak peak = readPeak(role);
  if (budget <= 0 || peak.total() <= budget)
    return success();
  const bool isServer =
      role->getAttrOfType<IntegerAttr>(train::kRoleAttr).getInt() == 0;
  return role.emitError()
         << (isServer ? "the parameter server" : "a worker") << " takes "
         << printBytes(peak.total()) << ", "
         << printBytes(peak.total() - budget) << " more than the "
         << printBytes(budget) << " of --memory-budget; "
         << printBytes(peak.persistent)
         << " of it live from step to step; what would help: fewer bytes of "
            "parameters that are sent together (--unit BYTES); a smaller batch "
            "or more micro-batches (--accumulate K); --zero 3, whose ranks "
            "share parameters and moments, in place of --aggregation server";
}

/// The server and its workers take part in the same collectives: they are put
/// in order before there are two roles.
LogicalResult Phases::scheduleServer() {
  if (failed(run("sched", [&](OpPassManager &manager) {
        addFused(manager, passes);
        addMemory(manager, passes);
        addOrder(manager, passes);
        addServer(manager, passes);
      })))
    return failure();
  // Recomputation is told of once.
  getRoles(*module).back()->removeAttr(kRecomputedWorkAttr);
  if (failed(run("sched",
                 [&](OpPassManager &manager) { addBuffers(manager, passes); })))
    return failure();
  return success(llvm::all_of(getRoles(*module), [&](ModuleOp role) {
    return succeeded(checkBudget(role, options.memoryBudget));
  }));
}
