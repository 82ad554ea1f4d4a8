//===- RanksPipeline.cpp - from one rank to a rank of the mesh ------------===//
#include "passes/Collectives/Passes.h"
#include "passes/Experts/Passes.h"
#include "passes/Sequence/Passes.h"
#include "passes/Sharding/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace zc {

void buildRanksPipeline(OpPassManager &manager, const RanksOptions &options) {
  if (options.tokenParts > 1 || options.dividesResiduals)
    manager.addPass(createSeparateRowsPass());
  if (options.tokenParts > 1) {
    FindTokensPassOptions tokens;
    tokens.parts = options.tokenParts;
    tokens.headParts = options.headParts;
    tokens.attention = options.attention;
    manager.addPass(createFindTokensPass(tokens));
  }
  AnnotateMeshPassOptions mesh;
  mesh.mesh = options.mesh;
  manager.addPass(createAnnotateMeshPass(mesh));
  if (options.dividesResiduals) {
    DivideResidualsPassOptions residuals;
    residuals.isAsked = options.asksForResiduals;
    residuals.keeps = options.keepsResiduals;
    manager.addPass(createDivideResidualsPass(residuals));
  }
  if (options.divideMessages)
    manager.addPass(createDivideMessagesPass());
  manager.addPass(createPlaceExpertsPass());
  manager.addPass(createPropagateShardingPass());
  InsertCollectivesPassOptions collectives;
  collectives.gradients = options.gradients;
  collectives.sumsWhole = options.sumsWhole;
  manager.addPass(createInsertCollectivesPass(collectives));
  manager.addPass(createFoldCollectivesPass());
  manager.addPass(createVerifyShardingPass());
  manager.addPass(createExplainShardingPass());
  manager.addPass(createLocalizePass());
  if (options.tokenParts > 1 || options.dividesResiduals)
    manager.addPass(createJoinRowsPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  if (options.hasServer)
    manager.addPass(createServeParametersPass());
  manager.addPass(createBroadcastPartsPass());
  JoinReductionsPassOptions joining;
  joining.bucketBytes = options.bucketBytes;
  joining.fewest = options.fewestBuckets;
  manager.addPass(createJoinReductionsPass(joining));
  CutReductionsPassOptions cutting;
  cutting.bytes = options.mostBytes;
  manager.addPass(createCutReductionsPass(cutting));
}

} // namespace zc
