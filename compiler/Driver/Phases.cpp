#include "compiler/Driver/Phases.h"

#include "compiler/Driver/ExpertOptions.h"
#include "compiler/Driver/ExpertReport.h"
#include "compiler/Driver/LossOptions.h"
#include "compiler/Driver/MeshOptions.h"
#include "compiler/Driver/NoFlushOptions.h"
#include "compiler/Driver/ParameterGroups.h"
#include "compiler/Driver/PassObserver.h"
#include "compiler/Driver/PipelineOptions.h"
#include "compiler/Driver/RuleFile.h"
#include "compiler/Driver/ScheduleOptions.h"
#include "compiler/Driver/SequenceOptions.h"
#include "compiler/Driver/TargetOptions.h"
#include "compiler/Driver/ZeroOptions.h"
#include "compiler/Export/CollectiveShape.h"
#include "dialects/Dist/Server.h"
#include "passes/Allocation/Passes.h"
#include "passes/Analysis/ProgramParts.h"
#include "passes/Analysis/Roles.h"
#include "passes/Autodiff/Passes.h"
#include "passes/Codegen/EqualKernels.h"
#include "passes/Codegen/Passes.h"
#include "passes/Codegen/ShareCode.h"
#include "passes/Collectives/Passes.h"
#include "passes/Fusion/Passes.h"
#include "passes/Import/Passes.h"
#include "passes/Memory/Passes.h"
#include "passes/Pipeline/Passes.h"
#include "passes/Precision/Passes.h"
#include "passes/Scheduling/Passes.h"
#include "passes/Sharding/Passes.h"
#include "passes/Target/Target.h"
#include "runtime/Base/Cores.h"
#include "runtime/Base/File.h"
#include "runtime/Plan/GradientEdges.h"
#include "runtime/Plan/Order/Versions.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace zc;

int64_t zc::getPlannedThreads(const CompileOptions &options) {
  if (options.target != "cpu") // a device of its own: one thread feeds it
    return 1;
  if (options.cpuThreads > 0)
    return options.cpuThreads;
  return std::max(int64_t(1), usableCores() / options.getNumRanks());
}

Phases::Phases(MLIRContext *context, const CompileOptions &options)
    : context(context), options(options), printer(context) {}

Phases::Phases(OwningOpRef<ModuleOp> given, const CompileOptions &options)
    : context(given->getContext()), options(options), printer(context),
      module(std::move(given)) {
  printer.keepSilent();
}

// A failure without a message, or IR that its verifier refuses, is our fault,
// and must say so rather than end silently.
LogicalResult Phases::checkInternally(const char *phase, bool succeeded,
                                      unsigned errorsBefore) {
  std::string where = std::string("in phase '") + phase + "'";
  if (!succeeded) {
    if (printer.getNumErrors() == errorsBefore && !printer.isSilent())
      reportError("internal error " + where + ": it failed without a message");
    return failure();
  }
  printer.setInternal(where);
  LogicalResult sound = verify(*module);
  printer.setInternal("");
  return sound;
}

LogicalResult Phases::runOn(ModuleOp target,
                            const std::function<void(OpPassManager &)> &build) {
  PassManager manager(context, ModuleOp::getOperationName());
  // checkInternally verifies once a phase and says whose fault it is.
  manager.enableVerifier(false);
  manager.addInstrumentation(std::make_unique<PassObserver>(
      options.dumpIr, options.verbose, dumped, times));
  build(manager);
  return manager.run(target);
}

LogicalResult Phases::run(const char *phase,
                          const std::function<void(OpPassManager &)> &build) {
  unsigned errors = printer.getNumErrors();
  // Passes keep what they know of a module: each role has its own.
  bool succeeded = llvm::all_of(getRoles(*module), [&](ModuleOp target) {
    return mlir::succeeded(runOn(target, build));
  });
  ScopedTime time(times, "verify");
  return checkInternally(phase, succeeded, errors);
}

// --- The phases
// ----------------------------------------------------------------------

LogicalResult Phases::convertToTrain() {
  ImportOptions lowering;
  lowering.frozenBatchNorm = options.batchNorm == "frozen";
  lowering.dropout = options.dropout == "on";
  return run("train", [&](OpPassManager &manager) {
    buildImportPipeline(manager, lowering);
    manager.addPass(createOrderRowsPass());
    manager.addNestedPass<func::FuncOp>(createWidenSumsPass());
  });
}

/// Gradients of such a model's parameters need a scaled loss.
static bool trainsHalves(ModuleOp module) {
  return llvm::any_of(module.getOps<train::StateOp>(), [](auto state) {
    return state.getKind() == train::kParameter &&
           state.getTensorType().getElementType().isF16();
  });
}

static void addMesh(OpPassManager &manager, const CompileOptions &options) {
  AnnotateMeshPassOptions mesh;
  mesh.mesh = printMesh(options);
  manager.addPass(createAnnotateMeshPass(mesh));
}

LogicalResult Phases::addClassWeights(SmallVectorImpl<double> &weights) {
  if (options.classWeights.empty())
    return success();
  Result<std::vector<double>> numbers = readClassWeights(options.classWeights);
  if (!numbers.ok())
    return emitError(UnknownLoc::get(context)) << numbers.status().message();
  llvm::append_range(weights, *numbers);
  return success();
}

/// The rules of the file that an option names, as passes take them; none for
/// "auto".
static LogicalResult readPatterns(
    MLIRContext *context, const std::string &path, size_t mostBytes,
    function_ref<llvm::Expected<std::string>(StringRef, StringRef)> parse,
    std::string &patterns) {
  if (path == "auto")
    return success();
  Result<std::string> text = readFile(path, mostBytes);
  if (!text.ok())
    return emitError(UnknownLoc::get(context)) << text.status().message();
  llvm::Expected<std::string> rules = parse(*text, path);
  if (!rules)
    return emitError(UnknownLoc::get(context))
           << llvm::toString(rules.takeError());
  patterns = *rules;
  return success();
}

/// Takes the module with stages on its ops, for --write-stages.
namespace {
struct WriteStages : PassWrapper<WriteStages, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(WriteStages)
  explicit WriteStages(std::string path) : path(std::move(path)) {}
  StringRef getArgument() const override { return "write-stages"; }
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (Status status = writeStageFile(getOperation(), path); !status.ok()) {
      emitError(UnknownLoc::get(&getContext())) << status.message();
      signalPassFailure();
    }
  }
  std::string path;
};

/// Makes the schedule once --zc-assign-stages has dealt the roles.
struct ChooseDealtSchedule
    : PassWrapper<ChooseDealtSchedule, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ChooseDealtSchedule)
  ChooseDealtSchedule(const CompileOptions &options, PipelineSchedule &pipeline)
      : options(options), pipeline(pipeline) {}
  StringRef getArgument() const override { return "choose-dealt-schedule"; }
  void runOnOperation() override {
    markAllAnalysesPreserved();
    auto dealt =
        getOperation()->getAttrOfType<DenseI64ArrayAttr>(kStageReplicasAttr);
    CompileOptions known = options;
    known.stageReplicas = llvm::join(
        llvm::map_range(dealt.asArrayRef(),
                        [](int64_t each) { return std::to_string(each); }),
        ",");
    Result<PipelineSchedule> chosen = chooseSchedule(known);
    if (!chosen.ok()) {
      emitError(UnknownLoc::get(&getContext())) << chosen.status().message();
      return signalPassFailure();
    }
    pipeline = std::move(*chosen);
  }
  const CompileOptions &options;
  PipelineSchedule &pipeline;
};

/// How many micro-batches each role has under way, of the schedule by now.
struct SetInFlight : PassWrapper<SetInFlight, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SetInFlight)
  SetInFlight(const CompileOptions &options, const PipelineSchedule &pipeline)
      : options(options), pipeline(pipeline) {}
  StringRef getArgument() const override { return "set-in-flight"; }
  void runOnOperation() override {
    markAllAnalysesPreserved();
    const InFlight inFlight = countInFlight(options, pipeline);
    for (auto [role, count] :
         llvm::zip(getRoles(getOperation()), inFlight.ofRoles))
      role->setAttr(kInFlightAttr,
                    Builder(&getContext()).getI64IntegerAttr(count));
  }
  const CompileOptions &options;
  const PipelineSchedule &pipeline;
};
} // namespace

/// One rank that trains as a pipeline without flush does.
void Phases::addDelays(OpPassManager &manager, const std::string &patterns) {
  const MarkDelaysPassOptions delays = getDelayOptions(options, patterns);
  AssignStagesPassOptions assign;
  assign.stages = int64_t(delays.delays.size());
  assign.patterns = patterns;
  if (!patterns.empty())
    manager.addPass(createAssignStagesPass(assign));
  manager.addPass(createMarkDelaysPass(delays));
}

void Phases::addSplit(OpPassManager &manager, const std::string &patterns) {
  if (options.getAxisSize("pp") == 1)
    return addDelays(manager, patterns);
  AssignStagesPassOptions assign;
  const InFlight inFlight = countInFlight(options, pipeline);
  assign.stages = int64_t(pipeline.roleOfStage.size());
  const bool isDealt = options.stageReplicas == "auto";
  assign.dealsRoles = isDealt;
  assign.microBatches = options.accumulate;
  assign.patterns = patterns;
  if (!isDealt)
    llvm::append_range(assign.inFlight, inFlight.ofStages);
  assign.memoryBytes = options.memoryBudget;
  assign.bytesPerParameter = estimateBytesPerParameter(options);
  assign.sampleShares = options.getAxisSize("dp") * options.getAxisSize("ep") *
                        options.getAxisSize("sp");
  assign.keepsCrossing = options.recompute == "layer" ||
                         options.recompute == "sqrt" ||
                         options.recompute == "full";
  manager.addPass(createAssignStagesPass(assign));
  if (isDealt)
    manager.addPass(std::make_unique<ChooseDealtSchedule>(options, pipeline));
  if (!options.writeStages.empty())
    manager.addPass(std::make_unique<WriteStages>(options.writeStages));
  if (isWithoutFlush(options.schedule))
    manager.addPass(createMarkDelaysPass(getDelayOptions(options, patterns)));
  SplitStagesPassOptions split;
  if (!isDealt)
    llvm::append_range(split.inFlight, inFlight.ofRoles);
  if (!isDealt) {
    llvm::append_range(split.replicas, pipeline.replicas);
    llvm::append_range(split.roleOfStage, pipeline.roleOfStage);
  }
  split.splitWeights = pipeline.splitsWeights;
  split.keepWhole = options.schedule == "1f1b" || options.schedule == "naive" ||
                    isWithoutFlush(options.schedule);
  manager.addPass(createSplitStagesPass(split));
  if (isDealt)
    manager.addPass(std::make_unique<SetInFlight>(options, pipeline));
  if (isWithoutFlush(options.schedule))
    manager.addPass(createShareCountPass());
}

/// Chooses the pipeline's schedule; without pp there is none.
LogicalResult Phases::makePipeline() {
  if (options.getAxisSize("pp") == 1)
    return success();
  Result<PipelineSchedule> chosen = chooseSchedule(options);
  if (!chosen.ok())
    return emitError(UnknownLoc::get(context)) << chosen.status().message();
  pipeline = std::move(*chosen);
  return success();
}

void Phases::takeOutEqualRoles() {
  // A budget is met by each role in its own way; without flush, each has
  // another number of versions.
  if (!options.sharesRoles || options.memoryBudget > 0 ||
      isWithoutFlush(options.schedule) || options.emit < Emit::Llvm)
    return;
  ScopedTime time(times, "compare roles");
  equalRoles.takeOut(*module);
}

static BuildLossPassOptions getLossOptions(const CompileOptions &options) {
  BuildLossPassOptions loss;
  loss.mode = options.mode;
  loss.loss = options.loss;
  loss.logits = options.loss == "none" ? options.lossOutput : options.logits;
  loss.labels = options.labels;
  loss.classAxis = options.classAxis.value_or(INT64_MIN);
  loss.accumulate = options.accumulate;
  loss.ignoreIndex = options.ignoreIndex;
  loss.labelSmoothing = options.labelSmoothing;
  loss.posWeight = options.posWeight;
  loss.huberDelta = options.huberDelta;
  llvm::append_range(loss.addedLosses, options.addedLosses);
  loss.layerMetrics = options.getAxisSize("pp") > 1;
  // Without flush no role knows of the others'.
  loss.expertMetrics = !loss.layerMetrics || !isWithoutFlush(options.schedule);
  return loss;
}

static BuildOptimizerStepPassOptions
getOptimizerOptions(const CompileOptions &options) {
  BuildOptimizerStepPassOptions optimizer;
  optimizer.optimizer = options.optimizer;
  optimizer.momentum = options.momentum;
  optimizer.nesterov = options.nesterov;
  optimizer.beta1 = options.beta1;
  optimizer.beta2 = options.beta2;
  optimizer.eps = options.eps;
  optimizer.weightDecay = options.weightDecay.value_or(-1);
  if (options.gradientHistogram)
    llvm::append_range(optimizer.gradientEdges, kGradientEdges);
  optimizer.momentPrecision = options.momentPrecision;
  optimizer.clipNorm = options.clipNorm;
  optimizer.clipValue = options.clipValue;
  // A compressed step has the numbers of its optimizer in its code.
  optimizer.settingsAtRunTime = options.optimizer != "onebit-adam";
  optimizer.averageDecay = options.averageDecay.value_or(-1);
  return optimizer;
}

LogicalResult Phases::buildPrograms() {
  if (failed(exemptFromDecay(*module, options.noWeightDecay)) ||
      failed(applyGroups(*module, options.groups)))
    return failure();
  AutodiffOptions autodiff;
  autodiff.loss = getLossOptions(options);
  autodiff.loss.divideSums =
      options.precision == "fp16" || trainsHalves(*module);
  if (failed(addClassWeights(autodiff.loss.classWeights)))
    return failure();
  // "local", of the mesh's ranks, or "local=N", of N.
  if (StringRef stats = options.batchNormStats; stats.consume_front("local")) {
    int64_t shares = options.getAxisSize("dp") * options.getAxisSize("ep");
    if (stats.consume_front("="))
      stats.getAsInteger(10, shares);
    autodiff.loss.statisticsShares = shares;
  }
  autodiff.optimizer = getOptimizerOptions(options);
  autodiff.sampleAxes = {"dp", "ep"};
  ShardParametersPassOptions division;
  division.automatic = options.tpRules == "auto" && !options.dividesOnlyGiven;
  for (const std::string &shard : options.shard)
    division.shard += shard + "\n";
  constexpr size_t kMostRuleBytes = 1 << 20, kMostStageBytes = 16 << 20;
  if (failed(readPatterns(context, options.tpRules, kMostRuleBytes,
                          parseRuleFile, division.patterns)))
    return failure();
  if (options.getAxisSize("tp") > 1 || !options.shard.empty())
    autodiff.shardParameters = [&](OpPassManager &manager) {
      addMesh(manager, options);
      manager.addPass(createShardParametersPass(division));
    };
  autodiff.applyPrecision = [&](OpPassManager &manager) {
    AddMastersPassOptions masters;
    ApplyPrecisionPassOptions precision;
    StringRef(options.lossScale).getAsDouble(masters.lossScale);
    precision.lossScale = masters.lossScale;
    precision.keepsCopies = masters.keepsCopies = options.weightCopies == "on";
    manager.addPass(createAddMastersPass(masters));
    precision.type = options.precision;
    if (options.precision != "fp32")
      manager.addPass(createApplyPrecisionPass(precision));
    manager.addNestedPass<func::FuncOp>(createWidenSumsPass());
  };
  std::string stages;
  if (failed(readPatterns(context, options.stages, kMostStageBytes,
                          parseStageFile, stages)) ||
      failed(makePipeline()))
    return failure();
  if (!pipeline.roles.empty() || isWithoutFlush(options.schedule))
    autodiff.splitStages = [&](OpPassManager &manager) {
      addTokenOrder(manager, options); // a stage alone does not know
      addSplit(manager, stages);
    };
  const bool hasServer = options.aggregation == "server";
  if ((options.zero > 0 || hasServer || autodiff.splitsStep()) &&
      options.getNumRanks() > 1)
    autodiff.packGradients = [&](OpPassManager &manager) {
      addMesh(manager, options);
      manager.addPass(createApplyZeroPass(getZeroOptions(options)));
    };
  noteExperts(*module);
  if (failed(run("step", [&](OpPassManager &manager) {
        manager.addPass(createAnnotateTargetPass(getTargetOptions(options)));
        dispatchExperts(manager, *module, options);
        buildLossPipeline(manager, autodiff);
        if (!autodiff.splitStages)
          addTokenOrder(manager, options);
      })))
    return failure();
  noteRooms(*module, options.moeCapacity != "none");
  takeOutEqualRoles();
  return run("step", [&](OpPassManager &manager) {
    buildStepPipeline(manager, autodiff);
  });
}

/// The most bytes of a buffer in which gradients wait to be sent: as many as
/// the user lets go together, or a constant, so that no large table decides; 0:
/// any.
static int64_t getMostWaitingBytes(const CompileOptions &options) {
  // Smaller pieces than the fewest are more messages than they save room;
  // larger ones than the default are no quicker.
  constexpr int64_t kFewest = 4096;
  int64_t asked = options.bucketMib ? getBucketBytes(options) : kMostTogether;
  if (options.zero == 3) { // a unit of so many bytes, or of layers
    asked = 0;
    StringRef(options.unit).getAsInteger(10, asked);
  }
  return asked > 0 ? std::max(kFewest, asked) : 0;
}

LogicalResult Phases::divide() {
  if (options.getNumRanks() == 1)
    return success();
  sequenceParallel = chooseSequenceParallel();
  if (options.collectiveAlgorithm != "auto")
    module->walk([&](ModuleOp each) {
      each->setAttr(kAlgorithmAttr,
                    StringAttr::get(context, options.collectiveAlgorithm));
    });
  RanksOptions ranks;
  ranks.hasServer = options.aggregation == "server";
  if (ranks.hasServer)
    (*module)->setAttr(dist::kServerAttr, UnitAttr::get(context));
  ranks.mesh = printMesh(options);
  ranks.gradients = options.reducePrecision;
  ranks.sumsWhole = options.gradientSums == "whole";
  ranks.bucketBytes = getBucketBytes(options);
  if (options.bucketMib)
    ranks.fewestBuckets = 1;
  ranks.mostBytes = getMostWaitingBytes(options);
  ranks.divideMessages = options.divideMessages;
  setSequence(options, sequenceParallel, ranks);
  ChunkCrossEntropyPassOptions chunks;
  chunks.axis = "tp";
  chunks.sampleParts = options.getAxisSize("dp") * options.getAxisSize("ep");
  if (failed(run("sharded", [&](OpPassManager &manager) {
        // The pass takes the rows of samples in chunks; sp leaves each rank
        // fewer.
        if (options.getAxisSize("tp") > 1 && options.getAxisSize("sp") == 1)
          manager.addPass(createChunkCrossEntropyPass(chunks));
        buildRanksPipeline(manager, ranks);
      })))
    return failure();
  FailureOr<int64_t> residuals = countResiduals(*module, options);
  if (succeeded(residuals) && *residuals == 0)
    sequenceParallel = "off";
  return residuals;
}

/// The value of --reshard-every; auto, without a budget, is a whole step.
static int64_t askedReshardEvery(const CompileOptions &options) {
  int64_t every = options.reshardEvery == "auto" ? options.accumulate : 1;
  StringRef(options.reshardEvery).getAsInteger(10, every);
  return options.zero == 3 && !isWithoutFlush(options.schedule) ? every : 1;
}

static RecomputePassOptions getMemoryOptions(const CompileOptions &options) {
  RecomputePassOptions memory;
  memory.policy = options.recompute.empty() ? "auto" : options.recompute;
  memory.budget = options.memoryBudget;
  memory.offload = options.offload == "none" ? "" : options.offload;
  // Without flush several versions of the parameters are at hand.
  if (options.offload.empty() && options.memoryBudget > 0 &&
      options.mode == "train" && !isWithoutFlush(options.schedule))
    memory.offload = "auto";
  memory.encodings = options.compressActivations;
  memory.partition = options.partitionActivations ? "tp" : "";
  memory.prefetch = options.prefetch.value_or(1);
  return memory;
}

void Phases::addFusion(OpPassManager &manager,
                       const RecomputePassOptions &memory) {
  // Values that are recomputed, or kept in fewer bits, need a kernel of their
  // own.
  MatchEpiloguesPassOptions epilogues;
  epilogues.activations =
      (options.recompute.empty() || options.recompute == "none") &&
      memory.budget == 0 && memory.encodings == "none";
  buildFusionPipeline(manager, getTarget(*module), epilogues);
}

LogicalResult Phases::fuse() {
  const RecomputePassOptions memory = getMemoryOptions(options);
  for (ModuleOp role : getRoles(*module))
    keepGathered(role, askedReshardEvery(options));
  return run("sched", [&](OpPassManager &manager) {
    addFusion(manager, memory);
    manager.addPass(createHoistGathersPass());
    buildMemoryPipeline(manager, memory);
  });
}

LogicalResult Phases::schedule() {
  const RecomputePassOptions memory = getMemoryOptions(options);
  SchedulingOptions scheduling;
  scheduling.prefetch = memory.prefetch;
  auto addRest = [&](OpPassManager &manager,
                     const RecomputePassOptions &recompute) {
    if (isWithoutFlush(options.schedule))
      manager.addPass(createAddVersionsPass());
    manager.addPass(createHoistGathersPass());
    buildMemoryPipeline(manager, recompute);
    if (options.getAxisSize("pp") > 1)
      manager.addPass(createSplitPassesPass());
    buildSchedulingPipeline(manager, scheduling);
    buildAllocationPipeline(manager, AllocationOptions());
  };
  if (options.aggregation == "server" && options.getNumRanks() > 1)
    return scheduleServer(memory, scheduling);
  const bool triesGathers = memory.budget > 0 && mayKeepGathered();
  if (!triesGathers)
    for (ModuleOp role : getRoles(*module))
      keepGathered(role, askedReshardEvery(options));
  if (memory.budget <= 0 || (options.getAxisSize("pp") == 1 && !triesGathers)) {
    if (failed(run("sched", [&](OpPassManager &manager) {
          addFusion(manager, memory);
          addRest(manager, memory);
        })))
      return failure();
    ScopedTime time(times, "copy equal roles");
    equalRoles.putBack(*module);
    return success();
  }
  if (failed(run("sched",
                 [&](OpPassManager &manager) { addFusion(manager, memory); })))
    return failure();
  return options.getAxisSize("pp") == 1 ? fitGathers(memory, addRest)
                                        : fitRoles(memory, addRest);
}

/// The modules of functions that a role's kernels were lowered to.
static void listKernels(ModuleOp role, SmallVectorImpl<ModuleOp> &modules) {
  for (ModuleOp nested : role.getOps<ModuleOp>())
    if (nested.getName().value_or("").starts_with(kKernelModule))
      modules.push_back(nested);
}

LogicalResult Phases::generateCode() {
  if (options.target == "cuda")
    return run("llvm", buildCudaCodegenPipeline);
  if (getRoles(*module).size() == 1)
    return run("llvm", buildCodegenPipeline);
  // Layers are alike in whichever role: their kernels are compiled once.
  if (failed(run("llvm", [](OpPassManager &manager) {
        manager.addPass(createLowerKernelsPass());
      })))
    return failure();
  SmallVector<ModuleOp> kernels;
  for (ModuleOp role : getRoles(*module))
    listKernels(role, kernels);
  shareFunctions(kernels);
  if (failed(run("llvm", [](OpPassManager &manager) {
        buildKernelLoweringPipeline(manager.nest<ModuleOp>());
      })))
    return failure();
  shareCode(kernels);
  return run("llvm", [](OpPassManager &manager) {
    manager.addNestedPass<ModuleOp>(createAddEntryPointsPass());
  });
}
