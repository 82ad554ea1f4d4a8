//===- ServerPhase.cpp - the schedule of a parameter server ---------------===//
#include "compiler/Driver/Phases.h"

#include "passes/Allocation/Passes.h"
#include "passes/Analysis/Roles.h"
#include "passes/Memory/Passes.h"
#include "passes/Scheduling/Passes.h"

using namespace mlir;
using namespace zc;

/// The server and its workers take part in the same collectives: they are put
/// in order before there are two roles.
LogicalResult Phases::scheduleServer(const RecomputePassOptions &memory,
                                     const SchedulingOptions &scheduling) {
  if (failed(run("sched", [&](OpPassManager &manager) {
        addFusion(manager, memory);
        buildMemoryPipeline(manager, memory);
        buildOrderPipeline(manager, scheduling);
        manager.addPass(createSplitServerPass());
      })))
    return failure();
  // What is computed again is told of once.
  getRoles(*module).back()->removeAttr(kRecomputedWorkAttr);
  return run("sched", [&](OpPassManager &manager) {
    buildInstructionsPipeline(manager);
    buildAllocationPipeline(manager, AllocationOptions());
  });
}
