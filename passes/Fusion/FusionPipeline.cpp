//===- FusionPipeline.cpp -------------------------------------------------===//
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Fusion/Passes.h"
#include "passes/Target/Target.h"

using namespace mlir;

namespace zc {

void buildFusionPipeline(OpPassManager &manager, const Target &target,
                         const MatchEpiloguesPassOptions &epilogues) {
  manager.addPass(createAccumulateInPlacePass());
  manager.addPass(createChunkCrossEntropyPass());
  if (target.runsThreadBlocks()) {
    manager.addPass(createSpreadExpertSlotsPass());
    manager.addPass(createSortExpertRowsPass());
  }
  manager.addPass(createAssignLayoutsPass());
  manager.addPass(createMatchNormsPass());
  manager.addPass(createSplitBatchNormPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createKeepPoolPlacesPass());
  manager.addPass(createWidenProductsPass());
  manager.addPass(createPadHeadsPass());
  if (target.runsThreadBlocks())
    manager.addPass(createRepeatCheapOpsPass());
  // From here on the values that exist are fixed: no pass may fold across
  // regions.
  manager.addPass(createFormRegionsPass());
  if (!target.runsThreadBlocks()) {
    manager.addPass(createComputeSlicesPass());
    manager.addPass(createFoldRowSumsPass());
    manager.addPass(createCompactTableGradientsPass());
  }
  manager.addPass(createSelectLibraryCallsPass());
  manager.addPass(createMatchEpiloguesPass(epilogues));
  if (target.runsThreadBlocks())
    manager.addPass(createSplitSumsPass());
}

} // namespace zc
