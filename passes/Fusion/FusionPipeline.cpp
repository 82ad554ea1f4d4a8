//===- FusionPipeline.cpp -------------------------------------------------===//
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Fusion/Cuda/LibraryPatterns.h"
#include "passes/Fusion/Passes.h"

using namespace mlir;

namespace zc {

void buildFusionPipeline(OpPassManager &manager,
                         const SelectLibraryCallsPassOptions &options,
                         const WidenProductsPassOptions &products,
                         const MatchEpiloguesPassOptions &epilogues) {
  ChunkCrossEntropyPassOptions chunks;
  chunks.target = options.target;
  manager.addPass(createChunkCrossEntropyPass(chunks));
  manager.addPass(createAssignLayoutsPass());
  if (options.target == "cuda" && !cuda::isLeftOut("NORMS"))
    manager.addPass(createMatchNormsPass());
  SplitBatchNormPassOptions norms;
  norms.target = options.target;
  manager.addPass(createSplitBatchNormPass(norms));
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createKeepPoolPlacesPass());
  manager.addPass(createWidenProductsPass(products));
  if (options.target == "cuda")
    manager.addPass(createRepeatCheapOpsPass());
  // From here on the values that exist are fixed: no pass may fold across
  // regions.
  manager.addPass(createFormRegionsPass());
  if (options.target == "cpu") {
    manager.addPass(createComputeSlicesPass());
    manager.addPass(createFoldRowSumsPass());
    manager.addPass(createCompactTableGradientsPass());
  }
  manager.addPass(createSelectLibraryCallsPass(options));
  if (options.target == "cuda" && !cuda::isLeftOut("EPILOGUES")) {
    MatchEpiloguesPassOptions asked = epilogues;
    asked.reluBits = cuda::isAskedFor("RELU_BITS");
    manager.addPass(createMatchEpiloguesPass(asked));
  }
  if (options.target == "cuda")
    manager.addPass(createSplitSumsPass());
}

} // namespace zc
