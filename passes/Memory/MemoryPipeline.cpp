//===- MemoryPipeline.cpp -------------------------------------------------===//
#include "passes/Memory/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;

void zc::buildMemoryPipeline(OpPassManager &manager,
                             const RecomputePassOptions &options) {
  manager.addPass(createRecomputePass(options));
}
