//===- ImportPipeline.cpp - the import phase, step by step ----------------===//
#include "mlir/Transforms/Passes.h"
#include "passes/Import/Passes.h"

using namespace mlir;

void zc::buildImportPipeline(OpPassManager &manager,
                             const ImportOptions &options) {
  ConvertOnnxToTrainPassOptions convert;
  convert.frozenBatchNorm = options.frozenBatchNorm;
  convert.dropout = options.dropout;
  manager.addPass(createConvertOnnxToTrainPass(convert));
  // Node by node, the lowering repeats itself (the same mask per layer) and
  // leaves chains (transpose, reshape, matmul) that canonicalisation folds.
  manager.addPass(createCSEPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createRecognizeAttentionPass());
  manager.addPass(createRecognizeExpertsPass());
  manager.addPass(createCanonicalizerPass());
}
