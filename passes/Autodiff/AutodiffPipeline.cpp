//===- AutodiffPipeline.cpp -----------------------------------------------===//
#include "passes/Autodiff/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <algorithm>

using namespace mlir;

namespace zc {

static BuildCompressedStepPassOptions
getCompressed(const AutodiffOptions &options) {
  BuildCompressedStepPassOptions compressed;
  compressed.beta1 = options.optimizer.beta1;
  compressed.beta2 = options.optimizer.beta2;
  compressed.eps = options.optimizer.eps;
  compressed.weightDecay = std::max(0.0, options.optimizer.weightDecay);
  llvm::append_range(compressed.axes, options.sampleAxes);
  return compressed;
}

void buildStepPipeline(OpPassManager &manager, const AutodiffOptions &options) {
  if (options.loss.mode != "infer") {
    manager.addPass(createBuildBackwardPass());
    // Fold first: gradients are marked on the ops that make them.
    manager.addPass(createCanonicalizerPass());
    if (options.packGradients)
      options.packGradients(manager);
    if (options.splitsStep())
      manager.addPass(createAccumulateGradientsPass());
    manager.addPass(createBuildOptimizerStepPass(options.optimizer));
    if (options.optimizer.optimizer == "onebit-adam")
      manager.addPass(createBuildCompressedStepPass(getCompressed(options)));
  }
  // All states are there by now.
  manager.addPass(createBuildInitPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

void buildLossPipeline(OpPassManager &manager, const AutodiffOptions &options) {
  manager.addPass(createBuildLossPass(options.loss));
  // Outputs that the loss does not need are dead in @step; transposes of
  // weights become flags of matmuls before gradients are built from them.
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  if (options.shardParameters)
    options.shardParameters(manager);
  if (options.loss.mode != "infer" && options.applyPrecision)
    options.applyPrecision(manager);
  if (options.splitStages)
    options.splitStages(manager);
}

} // namespace zc
