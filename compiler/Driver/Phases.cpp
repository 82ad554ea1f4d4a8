#include "compiler/Driver/Phases.h"

#include "compiler/Driver/ExpertOptions.h"
#include "compiler/Driver/ExpertReport.h"
#include "compiler/Driver/LossOptions.h"
#include "compiler/Driver/ParameterGroups.h"
#include "compiler/Driver/PassObserver.h"
#include "compiler/Driver/PipelineOptions.h"
#include "compiler/Driver/RuleFile.h"
#include "compiler/Driver/ScheduleOptions.h"
#include "compiler/Driver/SequenceOptions.h"
#include "compiler/Export/CollectiveShape.h"
#include "dialects/Dist/Server.h"
#include "passes/Analysis/ProgramParts.h"
#include "passes/Analysis/Roles.h"
#include "passes/Codegen/EqualKernels.h"
#include "passes/Codegen/Passes.h"
#include "passes/Codegen/ShareCode.h"
#include "passes/Contents/Contents.h"
#include "passes/Target/Target.h"
#include "runtime/Base/Cores.h"
#include "runtime/Base/File.h"
#include "runtime/Plan/Axes.h"
#include "runtime/Plan/Order/Versions.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace zc;

int64_t zc::getPlannedThreads(const CompileOptions &options) {
  if (!getDeviceKind(options.target).isHost) // one thread feeds it
    return 1;
  if (options.cpuThreads > 0)
    return options.cpuThreads;
  return std::max(int64_t(1), usableCores() / options.getNumRanks());
}

Phases::Phases(MLIRContext *context, const CompileOptions &options)
    : context(context), options(options), passes(getPassOptions(options)),
      printer(context) {}

Phases::Phases(OwningOpRef<ModuleOp> given, const CompileOptions &options)
    : context(given->getContext()), options(options),
      passes(getPassOptions(options)), printer(context),
      module(std::move(given)) {
  passes.explains = false; // nobody asks
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
  if (printer.isSilent()) // a proof's, of passes that are looked at as it is
    return success();
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
  return run("train",
             [&](OpPassManager &manager) { addTrain(manager, passes); });
}

/// Gradients of such a model's parameters need a scaled loss.
static bool trainsHalves(ModuleOp module) {
  return llvm::any_of(module.getOps<train::StateOp>(), [](auto state) {
    return state.getKind() == train::kParameter &&
           state.getTensorType().getElementType().isF16();
  });
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

LogicalResult Phases::makeSchedule(const CompileOptions &known) {
  Result<PipelineSchedule> chosen = chooseSchedule(known);
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

/// The rules of files that options name.
LogicalResult Phases::readRules(std::string &stages) {
  constexpr size_t kMostRuleBytes = 1 << 20, kMostStageBytes = 16 << 20;
  std::string parameters;
  if (failed(addClassWeights(passes.loss.classWeights)) ||
      failed(readPatterns(context, options.tpRules, kMostRuleBytes,
                          parseRuleFile, parameters)) ||
      failed(readPatterns(context, options.stages, kMostStageBytes,
                          parseStageFile, stages)))
    return failure();
  if (passes.parameters)
    passes.parameters->patterns = parameters;
  return success();
}

/// Makes the schedule once --zc-assign-stages has dealt the roles.
LogicalResult Phases::chooseDealtSchedule() {
  auto dealt = (*module)->getAttrOfType<DenseI64ArrayAttr>(kStageReplicasAttr);
  CompileOptions known = options;
  known.stageReplicas = llvm::join(
      llvm::map_range(dealt.asArrayRef(),
                      [](int64_t each) { return std::to_string(each); }),
      ",");
  return makeSchedule(known);
}

/// Cuts the model, whose ops have stages, into roles.
LogicalResult Phases::cutIntoRoles() {
  const bool isDealt = options.stageReplicas == "auto";
  if (isDealt && failed(chooseDealtSchedule()))
    return failure();
  if (!options.writeStages.empty() && options.getAxisSize(axes::kRole) > 1)
    if (Status status = writeStageFile(*module, options.writeStages);
        !status.ok())
      return emitError(UnknownLoc::get(context)) << status.message();
  setRoles(options, pipeline, passes);
  if (failed(run("step",
                 [&](OpPassManager &manager) { addRoles(manager, passes); })))
    return failure();
  if (!isDealt)
    return success();
  const InFlight inFlight = countInFlight(options, pipeline);
  for (auto [role, count] : llvm::zip(getRoles(*module), inFlight.ofRoles))
    role->setAttr(kInFlightAttr, Builder(context).getI64IntegerAttr(count));
  return success();
}

LogicalResult Phases::buildPrograms() {
  std::string stages;
  if (failed(exemptFromDecay(*module, options.noWeightDecay)) ||
      failed(applyGroups(*module, options.groups)) || failed(readRules(stages)))
    return failure();
  if (options.getAxisSize(axes::kRole) > 1 && failed(makeSchedule(options)))
    return failure();
  passes.loss.divideSums |= trainsHalves(*module);
  if (passes.experts->ownRooms && !hasOwnRooms(*module))
    passes.experts.reset();
  setStages(options, pipeline, stages, passes);
  noteExperts(*module);
  if (failed(run("step",
                 [&](OpPassManager &manager) { addStep(manager, passes); })))
    return failure();
  if ((passes.stages || passes.delays) && failed(cutIntoRoles()))
    return failure();
  noteRooms(*module, options.moeCapacity != "none");
  takeOutEqualRoles();
  return run("step",
             [&](OpPassManager &manager) { addPrograms(manager, passes); });
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
  if (passes.hasServer)
    (*module)->setAttr(dist::kServerAttr, UnitAttr::get(context));
  setResiduals(options, sequenceParallel, passes);
  if (failed(run("sharded",
                 [&](OpPassManager &manager) { addSharded(manager, passes); })))
    return failure();
  FailureOr<int64_t> residuals = countResiduals(*module, options);
  if (succeeded(residuals) && *residuals == 0)
    sequenceParallel = "off";
  if (succeeded(residuals) && options.changesDivided)
    options.changesDivided(*module);
  return residuals;
}

/// The value of --reshard-every; auto, without a budget, is a whole step.
static int64_t askedReshardEvery(const CompileOptions &options) {
  int64_t every = options.reshardEvery == "auto" ? options.accumulate : 1;
  StringRef(options.reshardEvery).getAsInteger(10, every);
  return options.zero == 3 && !isWithoutFlush(options.schedule) ? every : 1;
}

LogicalResult Phases::fuse() {
  for (ModuleOp role : getRoles(*module))
    keepGathered(role, askedReshardEvery(options));
  return run("sched", [&](OpPassManager &manager) {
    addFused(manager, passes);
    addMemory(manager, passes);
  });
}

LogicalResult Phases::scheduleFused(const RecomputePassOptions &recompute) {
  PassOptions chosen = passes;
  chosen.recompute = recompute;
  return run("sched",
             [&](OpPassManager &manager) { addSched(manager, chosen); });
}

LogicalResult Phases::schedule() {
  if (passes.hasServer && options.getNumRanks() > 1)
    return scheduleServer();
  const bool triesGathers = options.memoryBudget > 0 && mayKeepGathered();
  if (!triesGathers)
    for (ModuleOp role : getRoles(*module))
      keepGathered(role, askedReshardEvery(options));
  if (options.memoryBudget <= 0 ||
      (options.getAxisSize(axes::kRole) == 1 && !triesGathers)) {
    if (failed(run("sched", [&](OpPassManager &manager) {
          addFused(manager, passes);
          addSched(manager, passes);
        })))
      return failure();
    ScopedTime time(times, "copy equal roles");
    equalRoles.putBack(*module);
    return success();
  }
  if (failed(run("sched",
                 [&](OpPassManager &manager) { addFused(manager, passes); })))
    return failure();
  return options.getAxisSize(axes::kRole) == 1 ? fitGathers() : fitRoles();
}

/// The modules of functions that a role's kernels were lowered to.
static void listKernels(ModuleOp role, SmallVectorImpl<ModuleOp> &modules) {
  for (ModuleOp nested : role.getOps<ModuleOp>())
    if (nested.getName().value_or("").starts_with(kKernelModule))
      modules.push_back(nested);
}

LogicalResult Phases::generateCode() {
  auto addAll = [&](OpPassManager &manager) { addLlvm(manager, passes); };
  if (getRoles(*module).size() == 1 || getTarget(*module).runsThreadBlocks())
    return run("llvm", addAll);
  // Layers are alike in whichever role: their kernels are compiled once.
  if (failed(run("llvm",
                 [&](OpPassManager &manager) { addKernels(manager, passes); })))
    return failure();
  SmallVector<ModuleOp> kernels;
  for (ModuleOp role : getRoles(*module))
    listKernels(role, kernels);
  shareFunctions(kernels);
  if (failed(run("llvm", [](OpPassManager &manager) {
        addKernelLowering(manager.nest<ModuleOp>());
      })))
    return failure();
  shareCode(kernels);
  return run("llvm", addEntryPoints);
}
