//===- MemoryPipeline.cpp -------------------------------------------------===//
#include "passes/Memory/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;

void zc::buildMemoryPipeline(OpPassManager &manager,
                             const RecomputePassOptions &options) {
  manager.addPass(createRecomputePass(options));
  if (options.encodings == "none" && options.partition.empty())
    return;
  EncodeKeptPassOptions encoding;
  encoding.encodings = options.encodings;
  encoding.partition = options.partition;
  encoding.prefetch = options.prefetch;
  manager.addPass(createEncodeKeptPass(encoding));
}
