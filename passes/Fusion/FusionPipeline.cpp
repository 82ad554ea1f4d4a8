//===- FusionPipeline.cpp -------------------------------------------------===//
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Fusion/Passes.h"

using namespace mlir;

namespace zc {

void buildFusionPipeline(OpPassManager &manager,
                         const SelectLibraryCallsPassOptions &options,
                         const WidenProductsPassOptions &products) {
  manager.addPass(createChunkCrossEntropyPass());
  manager.addPass(createAssignLayoutsPass());
  manager.addPass(createSplitBatchNormPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createKeepPoolPlacesPass());
  if (options.target == "cpu")
    manager.addPass(createWidenProductsPass(products));
  // From here on the values that exist are fixed: no pass may fold across
  // regions.
  manager.addPass(createFormRegionsPass());
  if (options.target == "cpu") {
    manager.addPass(createComputeSlicesPass());
    manager.addPass(createFoldRowSumsPass());
    manager.addPass(createCompactTableGradientsPass());
  }
  manager.addPass(createSelectLibraryCallsPass(options));
}

} // namespace zc
