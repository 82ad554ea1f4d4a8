//===- AllocationPipeline.cpp ---------------------------------------------===//
#include "passes/Allocation/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;

void zc::buildAllocationPipeline(OpPassManager &manager,
                                 const AllocationOptions &) {
  manager.addPass(createAssignOffsetsPass());
  // Cheap beside everything before it, so it always runs: a wrong offset shows
  // as wrong numbers far away.
  manager.addPass(createVerifyOffsetsPass());
}
