//===- SchedulingPipeline.cpp ---------------------------------------------===//
#include "passes/Scheduling/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;

void zc::buildSchedulingPipeline(OpPassManager &manager,
                                 const SchedulingOptions &) {
  // The order decides which updates can happen in place, so it comes first.
  manager.addNestedPass<func::FuncOp>(createOrderInstructionsPass());
  manager.addPass(createConvertToSchedPass());
}
