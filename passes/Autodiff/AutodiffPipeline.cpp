//===- AutodiffPipeline.cpp -----------------------------------------------===//
#include "passes/Autodiff/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace zc {

void buildAutodiffPipeline(OpPassManager &manager,
                           const AutodiffOptions &options) {
  manager.addPass(createBuildLossPass(options.loss));
  // Outputs that the loss does not need are dead in @step; transposes of
  // weights become flags of matmuls before gradients are built from them.
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  if (options.shardParameters)
    options.shardParameters(manager);
  if (options.loss.mode != "infer") {
    if (options.applyPrecision)
      options.applyPrecision(manager);
    manager.addPass(createBuildBackwardPass());
    if (options.packGradients)
      options.packGradients(manager);
    if (options.loss.accumulate > 1)
      manager.addPass(createAccumulateGradientsPass());
    manager.addPass(createBuildOptimizerStepPass(options.optimizer));
  }
  // All states are there by now.
  manager.addPass(createBuildInitPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

} // namespace zc
