#include "compiler/Driver/PassOptions.h"

#include "compiler/Driver/ExpertOptions.h"
#include "compiler/Driver/Float8Options.h"
#include "compiler/Driver/MeshOptions.h"
#include "compiler/Driver/NoFlushOptions.h"
#include "compiler/Driver/PipelineOptions.h"
#include "compiler/Driver/SequenceOptions.h"
#include "compiler/Driver/TargetOptions.h"
#include "passes/Autodiff/Optimizers/Optimizers.h"
#include "runtime/Plan/Axes.h"
#include "runtime/Plan/GradientEdges.h"
#include "runtime/Plan/Order/Versions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>

using namespace zc;

using llvm::StringRef;

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
  loss.layerMetrics = options.getAxisSize(axes::kRole) > 1;
  // Without flush no role knows of the others'.
  loss.expertMetrics = !loss.layerMetrics || !isWithoutFlush(options.schedule);
  loss.divideSums = options.precision == "fp16";
  // "local", of the mesh's ranks, or "local=N", of N.
  if (StringRef stats = options.batchNormStats; stats.consume_front("local")) {
    loss.statisticsShares = countSampleShares(options);
    if (stats.consume_front("="))
      stats.getAsInteger(10, loss.statisticsShares);
  }
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

/// Gradients that are sent together: enough for the full rate of a link; more
/// would only make buffers larger.
static constexpr int64_t kMostTogether = 64 << 20;

/// The fewest buckets of gradients, unless the user says how large they are.
static constexpr int64_t kFewestBuckets = 16;

static ApplyZeroPassOptions getZeroOptions(const CompileOptions &options) {
  ApplyZeroPassOptions zero;
  zero.stage = options.zero;
  for (const std::string &axis : getZeroAxes(options))
    zero.axes.push_back(axis);
  zero.unit = options.unit;
  zero.byDims = !getOptimizer(options.optimizer).isElementwise;
  if (options.bucketMib)
    zero.mostBytes = std::max(int64_t(1), getBucketBytes(options));
  else if (options.zero < 3 && options.unit == "auto")
    zero.mostBytes = kMostTogether;
  zero.reshardAfterForward = !options.noReshardAfterForward;
  zero.reshardLast = options.reshardLast;
  zero.gathersWide = options.gatherPrecision == "fp32";
  // A server's units are those of stage 1, which one rank has whole.
  zero.keepsMoments = options.aggregation == "server";
  if (zero.keepsMoments && !zero.byDims)
    zero.stage = 1;
  // Clipping keeps every gradient; in stage 1 they are whole.
  zero.late =
      options.zero == 1 && options.clipNorm > 0 && options.accumulate == 1;
  return zero;
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

static RecomputePassOptions getMemoryOptions(const CompileOptions &options) {
  RecomputePassOptions memory;
  memory.policy = options.recompute.empty() ? "auto" : options.recompute;
  memory.budget = options.memoryBudget;
  memory.microBatches = options.accumulate;
  memory.offload = options.offload == "none" ? "" : options.offload;
  // Without flush several versions of the parameters are at hand.
  if (options.offload.empty() && options.memoryBudget > 0 &&
      options.mode == "train" && !isWithoutFlush(options.schedule))
    memory.offload = "auto";
  memory.encodings = options.compressActivations;
  memory.partition = options.partitionActivations ? axes::kTensor : "";
  return memory;
}

static BuildCompressedStepPassOptions
getCompressedOptions(const CompileOptions &options) {
  BuildCompressedStepPassOptions compressed;
  compressed.beta1 = options.beta1;
  compressed.beta2 = options.beta2;
  compressed.eps = options.eps;
  compressed.weightDecay = std::max(0.0, options.weightDecay.value_or(-1));
  compressed.axes = {axes::kSample, axes::kExpert}; // of samples
  return compressed;
}

static std::optional<ShardParametersPassOptions>
getParameterOptions(const CompileOptions &options) {
  if (options.getAxisSize(axes::kTensor) == 1 && options.shard.empty())
    return std::nullopt;
  ShardParametersPassOptions parameters;
  parameters.automatic = options.tpRules == "auto" && !options.dividesOnlyGiven;
  // Each copy's gradient would be rounded to 8 bits by itself.
  parameters.repeats = options.precision != "fp8";
  for (const std::string &shard : options.shard)
    parameters.shard += shard + "\n";
  return parameters;
}

/// Copies of parameters in 16 bits, and the scale of their loss.
static void setPrecision(const CompileOptions &options, PassOptions &passes) {
  StringRef(options.lossScale).getAsDouble(passes.masters.lossScale);
  passes.masters.keepsCopies = options.weightCopies == "on";
  if (options.precision == "fp32")
    return;
  ApplyPrecisionPassOptions &precision = passes.precision.emplace();
  passes.float8 = getFloat8Options(options);
  precision.type = passes.float8 ? "bf16" : options.precision; // the others
  precision.lossScale = passes.masters.lossScale;
  precision.keepsCopies = passes.masters.keepsCopies;
}

/// The part of the options that makes programs of one rank.
static void setPrograms(const CompileOptions &options, PassOptions &passes) {
  passes.convert.frozenBatchNorm = options.batchNorm == "frozen";
  passes.convert.dropout = options.dropout == "on";
  passes.target = getTargetOptions(options);
  passes.experts = getExpertOptions(options);
  passes.loss = getLossOptions(options);
  passes.mesh.mesh = printMesh(options);
  passes.parameters = getParameterOptions(options);
  setPrecision(options, passes);
  passes.tokens = getTokenOptions(options);
  passes.splitsStep =
      options.accumulate > 1 || options.getAxisSize(axes::kRole) > 1 ||
      isWithoutFlush(options.schedule) || options.optimizer == "onebit-adam";
  passes.hasServer = options.aggregation == "server";
  if ((options.zero > 0 || passes.hasServer || passes.splitsStep) &&
      options.getNumRanks() > 1)
    passes.zero = getZeroOptions(options);
  passes.optimizer = getOptimizerOptions(options);
  if (options.optimizer == "onebit-adam")
    passes.compressed = getCompressedOptions(options);
}

/// The part that divides them among ranks.
static void setDivision(const CompileOptions &options, PassOptions &passes) {
  // The pass takes the rows of samples in chunks; sp leaves each rank fewer.
  if (options.getAxisSize(axes::kTensor) > 1 &&
      options.getAxisSize(axes::kToken) == 1) {
    passes.divideClasses.emplace().axis = axes::kTensor;
    passes.divideClasses->sampleParts = countSampleShares(options);
  }
  passes.dividesMessages = options.divideMessages;
  passes.collectives.gradients = options.reducePrecision;
  passes.collectives.sumsWhole = options.gradientSums == "whole";
  passes.joins.bucketBytes = getBucketBytes(options);
  passes.joins.fewest = options.bucketMib ? 1 : kFewestBuckets;
  passes.cuts.bytes = getMostWaitingBytes(options);
}

PassOptions zc::getPassOptions(const CompileOptions &options) {
  PassOptions passes;
  setPrograms(options, passes);
  setDivision(options, passes);
  passes.recompute = getMemoryOptions(options);
  passes.overlap.prefetch = options.prefetch.value_or(1);
  if (options.compressActivations != "none" || options.partitionActivations) {
    passes.encodings.emplace().encodings = passes.recompute.encodings;
    passes.encodings->partition = passes.recompute.partition;
  }
  // Values that are recomputed, or kept in fewer bits, need a kernel of their
  // own.
  passes.epilogues.activations =
      (options.recompute.empty() || options.recompute == "none") &&
      options.memoryBudget == 0 && options.compressActivations == "none";
  return passes;
}

void zc::setStages(const CompileOptions &options,
                   const PipelineSchedule &schedule,
                   const std::string &patterns, PassOptions &passes) {
  const bool isCut = options.getAxisSize(axes::kRole) > 1;
  passes.stages.reset();
  passes.delays.reset();
  if (isWithoutFlush(options.schedule))
    passes.delays = getDelayOptions(options, patterns);
  if (!isCut && (patterns.empty() || !passes.delays))
    return;
  AssignStagesPassOptions &assign = passes.stages.emplace();
  assign.patterns = patterns;
  if (!isCut) { // one rank trains as a pipeline without flush does
    assign.stages = int64_t(passes.delays->delays.size());
    return;
  }
  assign.stages = int64_t(schedule.roleOfStage.size());
  assign.dealsRoles = options.stageReplicas == "auto";
  assign.microBatches = options.accumulate;
  if (!assign.dealsRoles) {
    llvm::append_range(assign.inFlight,
                       countInFlight(options, schedule).ofStages);
    if (schedule.replicas.empty()) // theirs take links of several roles
      llvm::append_range(assign.roleOfStage, schedule.roleOfStage);
  }
  assign.memoryBytes = options.memoryBudget;
  assign.bytesPerParameter = estimateBytesPerParameter(options);
  assign.sampleShares =
      countSampleShares(options) * options.getAxisSize(axes::kToken);
  assign.keepsCrossing = options.recompute == "layer" ||
                         options.recompute == "sqrt" ||
                         options.recompute == "full";
}

void zc::setRoles(const CompileOptions &options,
                  const PipelineSchedule &schedule, PassOptions &passes) {
  passes.roles.reset();
  if (options.getAxisSize(axes::kRole) == 1)
    return;
  SplitStagesPassOptions &split = passes.roles.emplace();
  if (options.stageReplicas != "auto") {
    llvm::append_range(split.inFlight,
                       countInFlight(options, schedule).ofRoles);
    llvm::append_range(split.replicas, schedule.replicas);
    llvm::append_range(split.roleOfStage, schedule.roleOfStage);
  }
  split.splitWeights = schedule.splitsWeights;
  split.keepWhole = options.schedule == "1f1b" || options.schedule == "naive" ||
                    isWithoutFlush(options.schedule);
}

void zc::setResiduals(const CompileOptions &options,
                      const std::string &sequenceParallel,
                      PassOptions &passes) {
  passes.residuals.reset();
  if (!StringRef(sequenceParallel).starts_with("on") ||
      options.getAxisSize(axes::kTensor) == 1)
    return;
  DivideResidualsPassOptions &residuals = passes.residuals.emplace();
  residuals.isAsked = asksForResiduals(options);
  residuals.keeps = sequenceParallel == "on=kept";
}
