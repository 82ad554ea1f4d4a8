//===- SchedulingPipeline.cpp ---------------------------------------------===//
#include "passes/Scheduling/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;

void zc::buildOrderPipeline(OpPassManager &manager,
                            const SchedulingOptions &options) {
  // The order decides which updates can happen in place, so it comes first.
  manager.addNestedPass<func::FuncOp>(createOrderInstructionsPass());
  OverlapCollectivesPassOptions overlap;
  overlap.prefetch = options.prefetch;
  manager.addNestedPass<func::FuncOp>(createOverlapCollectivesPass(overlap));
}

void zc::buildInstructionsPipeline(OpPassManager &manager) {
  manager.addPass(createConvertToSchedPass());
  manager.addPass(createJoinLaunchesPass());
  manager.addPass(createOffloadPass());
  manager.addPass(createVerifyCollectiveOrderPass());
}

void zc::buildSchedulingPipeline(OpPassManager &manager,
                                 const SchedulingOptions &options) {
  buildOrderPipeline(manager, options);
  buildInstructionsPipeline(manager);
}
