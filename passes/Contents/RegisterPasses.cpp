//===- RegisterPasses.cpp - all passes by name ----------------------------===//
#include "passes/Contents/Contents.h"

#include "dialects/Sched/TargetAttr.h"
#include "passes/Allocation/Passes.h"
#include "passes/Codegen/Passes.h"
#include "passes/Proof/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace zc {

/// The passes that measure peaks, by those that come behind them. The first
/// pass of a name is the one that is found.
static void registerMeasuringPasses() {
  PassOptions options;
  options.roles.emplace(); // the pass for roles leaves others as they are
  options.encodings.emplace();
  auto listRest = [options] {
    OpPassManager rest(ModuleOp::getOperationName());
    addInstructions(rest, options);
    return rest;
  };
  registerPass([listRest] { return createRecomputePass({}, listRest()); });
  registerPass([listRest] { return createEncodeKeptPass({}, listRest()); });
}

/// Plans from max pools on are of the same encodings as the pass.
static void registerPoolPlans() {
  struct Options : PassPipelineOptions<Options> {
    Option<std::string> encodings{*this, "encodings",
                                  llvm::cl::desc("as in --zc-encode-kept"),
                                  llvm::cl::init("none")};
  };
  PassPipelineRegistration<Options>(
      "zc-plan-pools", "--zc-plan-pool-places, with the plans it compares",
      [](OpPassManager &manager, const Options &given) {
        PassOptions options;
        options.roles.emplace(); // the pass for roles leaves others as they are
        options.encodings.emplace();
        options.encodings->encodings = given.encodings;
        manager.addPass(
            createPlanPoolPlacesPass({given.encodings}, planPools(options)));
      });
}

static void registerCodePipelines() {
  auto add = [](const char *name, const char *what,
                const std::function<void(OpPassManager &)> &build) {
    PassPipelineRegistration<>(name, what, build);
  };
  add("zc-codegen-pipeline", "compile every sched.kernel to the LLVM dialect",
      [](OpPassManager &manager) { addLlvm(manager, PassOptions()); });
  add("zc-kernel-lowering-pipeline",
      "lower a module of kernel functions to LLVM", [](OpPassManager &manager) {
        addKernelLowering(manager);
        manager.addPass(createAddEntryPointsPass());
      });
  add("zc-cuda-codegen-pipeline", "compile every sched.kernel to NVVM",
      [](OpPassManager &manager) {
        PassOptions options;
        options.target.device = sched::kCudaDevice;
        addLlvm(manager, options);
      });
}

void registerPasses() {
  registerMeasuringPasses();
  registerPoolPlans();
  registerImportPasses();
  registerAutodiffPasses();
  registerPrecisionPasses();
  registerFloat8Passes();
  registerExpertsPasses();
  registerSequencePasses();
  registerProofPasses();
  registerShardingPasses();
  registerCollectivesPasses();
  registerPipelinePasses();
  registerFusionPasses();
  registerMemoryPasses();
  registerSchedulingPasses();
  registerTargetPasses();
  registerAllocationPasses();
  registerCodegenPasses();
  registerCodePipelines();
  registerCanonicalizerPass();
  registerCSEPass();
  registerSymbolDCEPass();
  registerInlinerPass();
}

} // namespace zc
