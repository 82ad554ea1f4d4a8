#include "compiler/Driver/ArtifactOutput.h"

#include "compiler/Driver/CudaCode.h"
#include "compiler/Driver/Diagnostics.h"
#include "compiler/Driver/ExpertReport.h"
#include "compiler/Driver/HostCode.h"
#include "compiler/Driver/Phases.h"
#include "compiler/Driver/StoredTensors.h"
#include "compiler/Driver/TextOutput.h"
#include "compiler/Export/Artifact.h"
#include "compiler/Export/Inspect.h"
#include "dialects/Sched/TargetAttr.h"
#include "dialects/Train/TrainDialect.h"
#include "passes/Analysis/Roles.h"
#include "passes/Autodiff/Optimizers/Optimizers.h"
#include "passes/Codegen/EmitObject.h"
#include "passes/Codegen/Passes.h"
#include "passes/Target/Devices.h"
#include "runtime/Base/File.h"
#include "runtime/Plan/Axes.h"
#include "runtime/Plan/Order/Versions.h"
#include "llvm/ADT/StringExtras.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <charconv>

using namespace mlir;
using namespace zc;

static FailureOr<std::string> emitObject(ModuleOp module,
                                         const std::string &arch,
                                         CodeInput &code,
                                         std::string *llvmText = nullptr) {
  CpuArch target;
  std::string error;
  if (!resolveCpuArch(arch, target, error)) {
    reportError(error);
    return failure();
  }
  SmallVector<ModuleOp> kernels;
  for (ModuleOp role : getRoles(module))
    for (ModuleOp nested : role.getOps<ModuleOp>())
      if (nested.getName().value_or("").starts_with(kKernelModule))
        kernels.push_back(nested);
  auto bytes = emitSharedObject(kernels, target, llvmText);
  if (succeeded(bytes))
    code = {target.name, target.getFeatures(), *bytes, "so"};
  return bytes;
}

int zc::emitMachineCode(ModuleOp module, const CompileOptions &options) {
  std::string text;
  if (getDeviceKind(options.target).runsThreadBlocks) {
    auto printed = printCudaCode(module, options);
    return failed(printed) ? 1 : emitText(options.output, *printed);
  }
  CodeInput code;
  if (failed(emitObject(module, options.cpuArchs.front(), code, &text)))
    return 1;
  return emitText(options.output, text);
}

using Settings = std::vector<std::pair<std::string, std::string>>;

/// Adds the settings that change where values are and how many bytes they have.
static void addMemorySettings(const CompileOptions &options,
                              Settings &settings) {
  settings.push_back({"precision", options.precision});
  if (options.precision == "fp8")
    settings.push_back({"fp8-scaling", options.float8Scaling});
  if (!options.float8Exclude.empty())
    settings.push_back({"fp8-exclude", options.float8Exclude});
  if (options.momentPrecision != "fp32")
    settings.push_back({"moment-precision", options.momentPrecision});
  if (options.weightCopies != "on")
    settings.push_back({"weight-copies", options.weightCopies});
  if (options.gradientHistogram)
    settings.push_back({"gradient-histogram", "true"});
  if (options.lossScale != "dynamic")
    settings.push_back({"loss-scale", options.lossScale});
  if (options.libraries != "all")
    settings.push_back({"libraries", options.libraries});
  if (options.matmulPrecision != "highest")
    settings.push_back({"matmul-precision", options.matmulPrecision});
  if (options.getNumRanks() > 1) {
    settings.push_back({"reduce-precision", options.reducePrecision});
    settings.push_back({"zero", std::to_string(options.zero)});
    settings.push_back({"unit", options.unit});
    if (options.gatherPrecision != "auto")
      settings.push_back({"gather-precision", options.gatherPrecision});
    if (options.aggregation != "all-reduce")
      settings.push_back({"aggregation", options.aggregation});
    if (options.gradientSums != "scattered")
      settings.push_back({"gradient-sums", options.gradientSums});
  }
  if (options.getAxisSize(axes::kRole) > 1 ||
      isWithoutFlush(options.schedule)) {
    settings.push_back({"schedule", options.schedule});
    if (options.stageReplicas != "off")
      settings.push_back({"stage-replicas", options.stageReplicas});
    if (options.divideMessages)
      settings.push_back({"divide-messages", "true"});
    if (options.chunks > 0)
      settings.push_back({"chunks", std::to_string(options.chunks)});
    if (options.verticalSync)
      settings.push_back({"vertical-sync", "true"});
    settings.push_back({"stages", options.stages == "auto" ? "auto" : "file"});
  }
  if (options.zeroGroup > 0)
    settings.push_back({"zero-group", std::to_string(options.zeroGroup)});
  if (!options.reshardEvery.empty())
    settings.push_back({"reshard-every", options.reshardEvery});
  settings.push_back(
      {"recompute", options.recompute.empty() ? "none" : options.recompute});
  if (!options.offload.empty())
    settings.push_back({"offload", options.offload});
  if (options.compressActivations != "none")
    settings.push_back({"compress-activations", options.compressActivations});
  if (options.partitionActivations)
    settings.push_back({"partition-activations", "true"});
  if (options.memoryBudget > 0)
    settings.push_back({"memory-budget", std::to_string(options.memoryBudget)});
}

// Lists the user's choices, for people and for `zc inspect`.
static Settings listSettings(const CompileOptions &options) {
  // Exactly: a run that goes on compares them.
  auto number = [](double value) {
    char text[64];
    return std::string(text, std::to_chars(text, text + 64, value).ptr);
  };
  Settings settings;
  if (!options.init.empty())
    settings.push_back({"init", options.init});
  if (options.mode != "train")
    return settings;
  const OptimizerKind &optimizer = getOptimizer(options.optimizer);
  if (optimizer.hasMomentum)
    settings.push_back({"momentum", number(options.momentum)});
  if (optimizer.hasNesterov)
    settings.push_back({"nesterov", options.nesterov ? "true" : "false"});
  if (optimizer.hasBetas) {
    settings.push_back({"beta1", number(options.beta1)});
    settings.push_back({"beta2", number(options.beta2)});
    settings.push_back({"eps", number(options.eps)});
  }
  if (options.optimizer == "onebit-adam")
    settings.push_back({"freeze-step", std::to_string(options.freezeStep)});
  settings.push_back({"weight-decay", number(options.weightDecay.value_or(
                                          optimizer.weightDecay))});
  if (options.clipNorm > 0)
    settings.push_back({"clip-norm", number(options.clipNorm)});
  if (options.clipValue > 0)
    settings.push_back({"clip-value", number(options.clipValue)});
  for (const std::string &group : options.groups)
    settings.push_back({"group", group});
  if (options.averageDecay)
    settings.push_back({"ema", number(*options.averageDecay)});
  if (!options.logits.empty())
    settings.push_back({"logits", options.logits});
  if (options.classAxis)
    settings.push_back({"class-axis", std::to_string(*options.classAxis)});
  if (options.labelSmoothing > 0)
    settings.push_back({"label-smoothing", number(options.labelSmoothing)});
  if (!options.classWeights.empty())
    settings.push_back({"class-weights", options.classWeights});
  if (options.posWeight != 1)
    settings.push_back({"pos-weight", number(options.posWeight)});
  if (options.loss == "huber")
    settings.push_back({"huber-delta", number(options.huberDelta)});
  if (!options.addedLosses.empty())
    settings.push_back({"add-loss", llvm::join(options.addedLosses, ",")});
  if (options.moeCapacity != "none") {
    settings.push_back({"moe-capacity", options.moeCapacity});
    settings.push_back({"moe-group", options.moeGroup});
  }
  settings.push_back({"dropout", options.dropout});
  settings.push_back({"batchnorm", options.batchNorm});
  settings.push_back({"batchnorm-stats", options.batchNormStats});
  addMemorySettings(options, settings);
  return settings;
}

/// The machine that decided, by its name; of a cluster that was asked for all
/// of its numbers, whatever its file says by now.
static void addMachine(ModuleOp module, const CompileOptions &options,
                       Settings &settings) {
  auto target = module->getAttrOfType<sched::TargetAttr>(sched::kTargetAttr);
  if (!target || !target.getMachine())
    return;
  settings.push_back({"machine", target.getMachine().getName().str()});
  if (options.cluster.empty())
    return;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << target.getMachine();
  settings.push_back({"cluster", text});
}

static ExportInput makeExportInput(ModuleOp module,
                                   const CompileOptions &options,
                                   const PipelineSchedule &pipeline,
                                   const Summary &summary) {
  ExportInput input;
  input.module = module;
  input.pipeline = pipeline.roles.empty() ? nullptr : &pipeline;
  input.improvesOrders = options.schedule == "zero-bubble";
  input.memoryBudget = uint64_t(std::max<int64_t>(0, options.memoryBudget));
  input.modelName = llvm::sys::path::filename(options.model).str();
  input.modelFolder = parentPath(options.model);
  input.zcVersion = ZC_VERSION;
  input.mode = options.mode;
  input.device = options.target;
  input.threads = getPlannedThreads(options);
  input.libraries = options.libraries;
  input.matmulPrecision = options.matmulPrecision;
  input.batch = summary.batch;
  if (options.mode == "train") {
    input.loss = options.loss;
    input.accumulate = options.accumulate;
    input.schedule = options.schedule;
    input.optimizer = options.optimizer;
    if (options.optimizer == "onebit-adam")
      input.freezeStep = options.freezeStep;
  }
  input.plansOnly = options.plansOnly;
  input.weightsByReference = options.weights == "by-reference";
  input.settings = listSettings(options);
  addMachine(module, options, input.settings);
  for (auto &setting : listExperts(module))
    input.settings.push_back(std::move(setting));
  input.frozen = summary.frozen;
  return input;
}

static LogicalResult addCode(ModuleOp module, const CompileOptions &options,
                             std::vector<CodeInput> &code) {
  if (getDeviceKind(options.target).runsThreadBlocks)
    return emitCudaCode(module, options, code);
  for (const std::string &arch : options.cpuArchs)
    if (failed(emitObject(module, arch, code.emplace_back())))
      return failure();
  return success();
}

static LogicalResult addHostCode(ModuleOp module, const CompileOptions &options,
                                 std::vector<CodeInput> &code) {
  FailureOr<OwningOpRef<ModuleOp>> host = lowerHostKernels(module);
  if (failed(host) || !*host)
    return host;
  for (const std::string &arch : options.cpuArchs)
    if (failed(emitObject(**host, arch, code.emplace_back())))
      return failure();
  return success();
}

static LogicalResult addCodeTimed(ModuleOp module,
                                  const CompileOptions &options,
                                  ExportInput &input, PassTimes &times) {
  ScopedTime time(times, "machine code");
  if (failed(addCode(module, options, input.code)))
    return failure();
  return addHostCode(module, options, input.hostCode);
}

Result<plan::Manifest> zc::planManifest(ModuleOp module,
                                        const CompileOptions &options,
                                        const PipelineSchedule &pipeline,
                                        const Summary &summary) {
  return buildManifest(makeExportInput(module, options, pipeline, summary));
}

int zc::writeArtifact(ModuleOp module, const CompileOptions &options,
                      const PipelineSchedule &pipeline, Summary &summary,
                      PassTimes &times) {
  ExportInput input = makeExportInput(module, options, pipeline, summary);
  if (failed(addCodeTimed(module, options, input, times)))
    return 1;
  ScopedTime time(times, "write the artifact");
  AbsentData absent =
      options.init.empty() ? AbsentData::Refused : AbsentData::Allowed;
  if (Status status = addStoredModel(options.model, absent, input);
      !status.ok())
    return reportError(status.message());
  Result<plan::Manifest> manifest = buildManifest(input);
  if (!manifest.ok())
    return reportError("internal error in phase 'artifact': " +
                       manifest.status().message());
  if (Status status = writeArtifact(input, options.output); !status.ok())
    return reportError(status.message());
  const MemoryReport memory = measureMemory(*manifest);
  summary.plannedBytes = memory.peak;
  summary.offloadedBytes = memory.offloadedBytes;
  llvm::sys::fs::file_size(options.output, summary.artifactBytes);
  return 0;
}
