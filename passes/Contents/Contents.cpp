//===- Contents.cpp - all passes in their order ---------------------------===//
#include "passes/Contents/Contents.h"

#include "passes/Allocation/Passes.h"
#include "passes/Codegen/Passes.h"
#include "passes/Memory/KeptEncoder.h"
#include "passes/Memory/MarkOffload.h"
#include "passes/Target/Target.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace zc {

void addTrain(OpPassManager &manager, const PassOptions &options) {
  // Each ONNX node becomes train ops, by operator and version.
  manager.addPass(createConvertOnnxToTrainPass(options.convert));
  // The lowering repeats itself (the same mask per layer) and leaves chains
  // (transpose, reshape, matmul) that canonicalisation folds.
  manager.addPass(createCSEPass());
  manager.addPass(createCanonicalizerPass());
  // Attention and experts are found by what they compute.
  manager.addPass(createRecognizeAttentionPass());
  manager.addPass(createRecognizeExpertsPass());
  manager.addPass(createCanonicalizerPass());
  // Rows of tokens and samples begin with the samples, which ranks divide.
  manager.addPass(createOrderRowsPass());
  // Sums of 16-bit values are of float32.
  manager.addNestedPass<func::FuncOp>(createWidenSumsPass());
}

/// Says where inputs have tokens, and lets early and late ones change places
/// where ranks have equally much to do then.
static void addTokens(OpPassManager &manager,
                      const PassOptions::Tokens &tokens) {
  // Rows of samples and tokens hide where the tokens are.
  manager.addPass(createSeparateRowsPass());
  // Convolutions over tokens get their neighbours' edges.
  manager.addPass(createExchangeHalosPass(tokens.halos));
  // The user's word on tokens is kept before a pipeline is cut.
  manager.addPass(createMarkTokensPass(tokens.marks));
  manager.addPass(createOrderTokensPass(tokens.order));
}

void addStep(OpPassManager &manager, const PassOptions &options) {
  // Passes ask the target that the module names.
  manager.addPass(createAnnotateTargetPass(options.target));
  if (options.experts) {
    // Each expert's tokens have room of a fixed size.
    manager.addPass(createDispatchExpertsPass(*options.experts));
    manager.addPass(createCanonicalizerPass()); // what rows alone needed
    manager.addPass(createCSEPass());
  }
  // The loss and the metrics behind the forward.
  manager.addPass(createBuildLossPass(options.loss));
  // Outputs that the loss does not need are dead in @step; transposes of
  // weights become flags of matmuls before gradients are built from them.
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  if (options.parameters) {
    // The dims of parameters that tp divides.
    manager.addPass(createAnnotateMeshPass(options.mesh));
    manager.addPass(createShardParametersPass(*options.parameters));
  }
  if (options.loss.mode != "infer") {
    // Parameters of 16 bits have copies of float32, which are trained.
    manager.addPass(createAddMastersPass(options.masters));
    // The forward is stored in 16 bits.
    if (options.precision)
      manager.addPass(createApplyPrecisionPass(*options.precision));
    manager.addNestedPass<func::FuncOp>(createWidenSumsPass());
    // Some products of 16 bits have factors that are rounded to 8.
    if (options.float8)
      manager.addPass(createApplyFloat8Pass(options.float8->apply));
  }
  // A stage alone does not know of all attentions.
  if (options.tokens)
    addTokens(manager, *options.tokens);
  // The stage of a pipeline that each op belongs to.
  if (options.stages)
    manager.addPass(createAssignStagesPass(*options.stages));
}

void addRoles(OpPassManager &manager, const PassOptions &options) {
  // Without flush: how old the versions are that stages read.
  if (options.delays)
    manager.addPass(createMarkDelaysPass(*options.delays));
  if (!options.roles)
    return;
  // A module for each role; values that cross are messages.
  manager.addPass(createSplitStagesPass(*options.roles));
  // Roles that do not wait for each other learn the number of labels.
  if (options.delays)
    manager.addPass(createShareCountPass());
}

void addPrograms(OpPassManager &manager, const PassOptions &options) {
  if (options.loss.mode != "infer") {
    // The gradients of parameters.
    manager.addPass(createBuildBackwardPass());
    // Fold first: gradients are marked on the ops that make them.
    manager.addPass(createCanonicalizerPass());
    // Whole tensors are scaled, before ranks divide them.
    if (options.float8)
      manager.addPass(createRoundFloat8Pass(options.float8->round));
    if (options.zero) {
      // ZeRO: units of parameters that ranks divide.
      manager.addPass(createAnnotateMeshPass(options.mesh));
      manager.addPass(createApplyZeroPass(*options.zero));
    }
    // @micro adds up gradients, @apply ends the step.
    if (options.splitsStep)
      manager.addPass(createAccumulateGradientsPass());
    // The histories that scales of 8 bits are made of end with the step.
    if (options.float8)
      manager.addPass(createRollAmaxPass());
    manager.addPass(createBuildOptimizerStepPass(options.optimizer));
    // 1-bit Adam's second way to end a step.
    if (options.compressed)
      manager.addPass(createBuildCompressedStepPass(*options.compressed));
  }
  // All states are there by now; @init makes those that are not stored.
  manager.addPass(createBuildInitPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

void addSharded(OpPassManager &manager, const PassOptions &options) {
  const bool keepsRowsApart = options.tokens || options.residuals;
  // Logits whose classes tp divides never exist whole.
  if (options.divideClasses)
    manager.addPass(createChunkCrossEntropyPass(*options.divideClasses));
  // Rows of samples and tokens are two dims until ranks have their parts.
  if (keepsRowsApart)
    manager.addPass(createSeparateRowsPass());
  // The dims of tokens, and how each attention divides them.
  if (options.tokens)
    manager.addPass(createFindTokensPass(options.tokens->find));
  // The mesh; ranks divide the batch and its tokens.
  manager.addPass(createAnnotateMeshPass(options.mesh));
  // Between layers that tp divides, its ranks divide the tokens.
  if (options.residuals)
    manager.addPass(createDivideResidualsPass(*options.residuals));
  // Each rank of tp sends its share of a message.
  if (options.dividesMessages)
    manager.addPass(createDivideMessagesPass());
  // Experts' rows go to the ranks that have them.
  manager.addPass(createPlaceExpertsPass());
  // How every other value is divided follows from the ops' sharding rules.
  manager.addPass(createPropagateShardingPass());
  // A value that is divided otherwise than an op wants it is moved.
  manager.addPass(createInsertCollectivesPass(options.collectives));
  manager.addPass(createFoldCollectivesPass());
  // Before shapes become those of one rank: is it the same program?
  manager.addPass(createVerifyShardingPass());
  if (options.explains)
    manager.addPass(createExplainShardingPass());
  // Every value has the type of what one rank holds.
  manager.addPass(createLocalizePass());
  if (keepsRowsApart)
    manager.addPass(createJoinRowsPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  // Optimizer states are the server's alone; parameters come from there.
  if (options.hasServer)
    manager.addPass(createServeParametersPass());
  // A value that one rank holds comes from that rank alone.
  manager.addPass(createBroadcastPartsPass());
  // Small sums are sent together, large ones piece by piece.
  manager.addPass(createJoinReductionsPass(options.joins));
  manager.addPass(createCutReductionsPass(options.cuts));
}

/// From max pools on.
static void addRegions(OpPassManager &manager, const PassOptions &options) {
  const bool threadBlocks = runsThreadBlocks(options.target.device);
  // Products that the library does not have in 16 bits.
  manager.addPass(createWidenProductsPass());
  // Heads of two widths that a library wants equal get zeros.
  manager.addPass(createPadHeadsPass());
  // Cheap values are computed by each reader.
  if (threadBlocks)
    manager.addPass(createRepeatCheapOpsPass());
  // From here on the values that exist are fixed: no pass may fold across
  // regions.
  manager.addPass(createFormRegionsPass());
  if (!threadBlocks) {
    // Slices are computed where they are read, sums of rows where rows are,
    // and a table's gradient has the rows that were read.
    manager.addPass(createComputeSlicesPass());
    manager.addPass(createFoldRowSumsPass());
    manager.addPass(createCompactTableGradientsPass());
  }
  // A library is chosen for each region, and the ops that it computes besides.
  manager.addPass(createSelectLibraryCallsPass());
  manager.addPass(createMatchEpiloguesPass(options.epilogues));
  if (threadBlocks)
    manager.addPass(createSplitSumsPass());
}

/// With these encodings in the place of the options', or with all whole.
static PoolPlan planPools(PassOptions options,
                          std::optional<std::string> encodings, bool always) {
  if (!encodings)
    options.encodings->partition = options.recompute.partition = "";
  options.encodings->encodings = encodings.value_or("none");
  options.recompute.encodings = options.encodings->encodings;
  PoolPlan plan;
  plan.pools.addPass(createKeepPoolPlacesPass({always}));
  addRegions(plan.rest, options);
  addMemory(plan.rest, options);
  addInstructions(plan.rest, options);
  return plan;
}

PoolPlans planPools(const PassOptions &options) {
  const std::string &encodings = options.encodings->encodings;
  return {planPools(options, withoutRounding(encodings), /*always=*/false),
          planPools(options, encodings, /*always=*/true),
          planPools(options, std::nullopt, /*always=*/false)};
}

/// A max pool keeps a byte for each maximum.
static void addPools(OpPassManager &manager, const PassOptions &options) {
  if (!options.encodings || !roundsValues(options.encodings->encodings)) {
    manager.addPass(createKeepPoolPlacesPass());
    return;
  }
  manager.addPass(createPlanPoolPlacesPass({options.encodings->encodings},
                                           planPools(options)));
}

void addFused(OpPassManager &manager, const PassOptions &options) {
  const bool threadBlocks = runsThreadBlocks(options.target.device);
  // Products add to accumulated gradients where they lie, unless the host adds.
  AccumulateInPlacePassOptions sums;
  sums.onHost =
      parseOffload(options.recompute.offload).value_or(OffloadChoice()).update;
  manager.addPass(createAccumulateInPlacePass(sums));
  // The last layer and its loss in chunks: logits never exist whole.
  manager.addPass(createChunkCrossEntropyPass());
  if (threadBlocks) {
    // Experts' rows for products of tiles.
    manager.addPass(createSpreadExpertSlotsPass());
    manager.addPass(createSortExpertRowsPass());
  }
  // Images have their channels last.
  manager.addPass(createAssignLayoutsPass());
  // Batch normalisations: the library's, or sums by parts and elementwise ops.
  manager.addPass(createJoinCallsPass());
  manager.addPass(createSplitBatchNormPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  addPools(manager, options);
  addRegions(manager, options);
}

void addMemory(OpPassManager &manager, const PassOptions &options) {
  // Versions of parameters that micro-batches of several steps read.
  if (options.delays)
    manager.addPass(createAddVersionsPass());
  // Units of ZeRO-3 that stay gathered for several micro-batches.
  manager.addPass(createHoistGathersPass());
  // The passes behind these say what a plan needs.
  OpPassManager rest(ModuleOp::getOperationName());
  addInstructions(rest, options);
  // Values of the forward are computed again, offloaded or kept in fewer bytes.
  manager.addPass(createRecomputePass(options.recompute, rest));
  if (options.encodings)
    manager.addPass(createEncodeKeptPass(*options.encodings, rest));
}

void addOrder(OpPassManager &manager, const PassOptions &options) {
  // A role's micro-batch is cut into its forward and its backward.
  if (options.roles)
    manager.addPass(createSplitPassesPass());
  // The order decides which updates can happen in place, so it comes first.
  manager.addNestedPass<func::FuncOp>(createOrderInstructionsPass());
  // Collectives run beside what does not need them.
  manager.addNestedPass<func::FuncOp>(
      createOverlapCollectivesPass(options.overlap));
}

void addServer(OpPassManager &manager, const PassOptions &options) {
  // They take part in the same collectives, which are in order by now.
  if (options.hasServer)
    manager.addPass(createSplitServerPass());
}

/// Ordered programs of fused ops to instructions on buffers.
static void addPlacedBuffers(OpPassManager &manager) {
  // Values become buffers, regions kernels.
  manager.addPass(createConvertToSchedPass());
  // Marked parameters that are needed too soon to be copied stay on the device.
  manager.addPass(createKeepBusyStatesPass());
  // Small kernels behind one another become one.
  manager.addPass(createJoinLaunchesPass());
  // The host updates what it has been given to keep.
  manager.addPass(createHostUpdatesPass());
  // Marked buffers go to the second memory and come back.
  manager.addPass(createOffloadPass());
  // Every buffer has its place.
  manager.addPass(createAssignOffsetsPass());
}

void addInstructions(OpPassManager &manager, const PassOptions &options) {
  addOrder(manager, options);
  addPlacedBuffers(manager);
}

void addBuffers(OpPassManager &manager, const PassOptions &) {
  addPlacedBuffers(manager);
  manager.addPass(createVerifyOffsetsPass());
}

void addSched(OpPassManager &manager, const PassOptions &options) {
  addMemory(manager, options);
  addInstructions(manager, options);
  // Cheap beside everything before it, so it always runs: a wrong offset shows
  // as wrong numbers far away.
  manager.addPass(createVerifyOffsetsPass());
}

void addKernels(OpPassManager &manager, const PassOptions &options) {
  // Kernels become functions of linalg ops.
  manager.addPass(createLowerKernelsPass());
  // Loops become threads of blocks.
  if (runsThreadBlocks(options.target.device))
    manager.addPass(createDistributeThreadsPass());
}

/// Functions of any target, from linalg to loops of scalars.
static void addLoopLowering(OpPassManager &function, bool foldViews,
                            bool expandBFloat16) {
  function.addPass(createConvertLinalgToLoopsPass());
  if (foldViews)
    function.addPass(memref::createFoldMemRefAliasOpsPass());
  function.addPass(createCanonicalizerPass());
  function.addPass(createCSEPass());
  function.addPass(createLoopInvariantCodeMotionPass());
  // Before LLVM sees them: scalar calls would keep loops from becoming vectors.
  // The same polynomials on every target.
  ApproximateMathPassOptions math;
  math.expandBFloat16 = expandBFloat16;
  function.addPass(createApproximateMathPass(math));
  function.addPass(createCanonicalizerPass());
  function.addPass(createCSEPass());
}

/// Addresses as arithmetic, loops as branches.
static void addControlFlowLowering(OpPassManager &manager) {
  manager.addPass(memref::createExpandStridedMetadataPass());
  manager.addPass(createLowerAffinePass());
  manager.addPass(createSCFToControlFlowPass());
}

void addKernelLowering(OpPassManager &manager) {
  OpPassManager &function = manager.nest<func::FuncOp>();
  // Long sums are sums of sums; rows that are copied are vectors.
  function.addPass(createCascadeSumsPass());
  function.addPass(createCopyRowsPass());
  addLoopLowering(function, /*foldViews=*/true, /*expandBFloat16=*/true);
  addControlFlowLowering(manager);
  manager.addPass(math::createMathExpandOpsPass({{"roundeven"}}));
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createConvertMathToLibmPass());
  ConvertFuncToLLVMPassOptions bare;
  bare.useBarePtrCallConv = true;
  manager.addPass(createConvertFuncToLLVMPass(bare));
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertVectorToLLVMPass());
  manager.addPass(createConvertIndexToLLVMPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createUBToLLVMConversionPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

/// Functions of a GPU to LLVM and NVVM ops.
static void addDeviceLowering(OpPassManager &manager) {
  // Neighbours are read as one where their addresses differ by a number: a
  // block's own address stays one value. GPUs convert bfloat16 themselves.
  addLoopLowering(manager.nest<gpu::GPUFuncOp>(), /*foldViews=*/false,
                  /*expandBFloat16=*/false);
  addControlFlowLowering(manager);
  manager.addPass(createLowerDeviceMathPass());
  ConvertGpuOpsToNVVMOpsOptions bare;
  bare.useBarePtrCallConv = true;
  manager.addPass(createConvertGpuOpsToNVVMOps(bare));
  manager.addPass(createReconcileUnrealizedCastsPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

void addEntryPoints(OpPassManager &manager) {
  manager.addNestedPass<ModuleOp>(createAddEntryPointsPass());
}

void addLlvm(OpPassManager &manager, const PassOptions &options) {
  addKernels(manager, options);
  if (runsThreadBlocks(options.target.device))
    return addDeviceLowering(manager.nest<gpu::GPUModuleOp>());
  addKernelLowering(manager.nest<ModuleOp>());
  // Functions of equal code are one.
  manager.addPass(createShareCodePass());
  addEntryPoints(manager);
}

void addAllPhases(OpPassManager &manager, const PassOptions &options) {
  addTrain(manager, options);
  addStep(manager, options);
  addRoles(manager, options);
  addPrograms(manager, options);
  if (!options.mesh.mesh.empty())
    addSharded(manager, options);
  addFused(manager, options);
  addSched(manager, options);
  addLlvm(manager, options);
}

} // namespace zc
