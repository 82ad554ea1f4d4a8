#include "compiler/Driver/OptionRules.h"

#include "compiler/Driver/Float8Options.h"
#include "compiler/Driver/MeshOptions.h"
#include "passes/Autodiff/Optimizers/Optimizers.h"
#include "passes/Memory/MarkOffload.h"
#include "passes/Target/Devices.h"

#include "runtime/Plan/Axes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

using namespace zc;

namespace {
/// Options that have an effect only where `holds`; `why` says where that is.
struct Rule {
  std::vector<const char *> options;
  bool (*holds)(const CompileOptions &);
  const char *why;
};
} // namespace

static bool trains(const CompileOptions &options) {
  return options.mode == "train";
}

static bool isOneBit(const CompileOptions &options) {
  return options.optimizer == "onebit-adam";
}

static bool hasBetas(const CompileOptions &options) {
  return getOptimizer(options.optimizer).hasBetas;
}

static bool hasMomentum(const CompileOptions &options) {
  return getOptimizer(options.optimizer).hasMomentum || options.momentum == 0;
}

/// Ranks that add up gradients, or what they are made of.
static bool addsUpOverRanks(const CompileOptions &options) {
  return options.getNumRanks() > options.getAxisSize(axes::kRole);
}

static bool dividesSamples(const CompileOptions &options) {
  return countSampleShares(options) > 1;
}

static bool hasRanks(const CompileOptions &options) {
  return options.getNumRanks() > 1;
}

static bool hasCrossEntropy(const CompileOptions &options) {
  return options.loss == "softmax-cross-entropy";
}

static bool hasBinary(const CompileOptions &options) {
  return options.loss == "bce-with-logits";
}

static bool isForCpus(const CompileOptions &options) {
  return getDeviceKind(options.target).isHost;
}

static bool isForGpus(const CompileOptions &options) {
  return !isForCpus(options);
}

/// The forward alone has no loss, no gradient and no update.
static const Rule kOfTraining[] = {
    {{"--loss",          "--loss-output",   "--labels",
      "--class-axis",    "--ignore-index",  "--label-smoothing",
      "--class-weights", "--pos-weight",    "--huber-delta",
      "--add-loss",      "--stop-gradient", "--train-scales",
      "--optimizer",     "--momentum",      "--nesterov",
      "--beta1",         "--beta2",         "--eps",
      "--weight-decay",  "--group",         "--no-weight-decay",
      "--freeze-step",   "--clip-norm",     "--clip-value",
      "--ema",           "--accumulate",    "--freeze",
      "--train",         "--batchnorm",     "--batchnorm-stats",
      "--dropout",       "--bucket-mib",    "--reduce-precision"},
     trains,
     "belongs to --mode train"},
    {{"--zero", "--zero-group", "--unit", "--prefetch", "--reshard-last",
      "--no-reshard-after-forward", "--reshard-every"},
     [](const CompileOptions &options) {
       return trains(options) || options.zero == 0;
     },
     "belongs to --mode train: the forward alone has nothing that ZeRO "
     "divides; tp divides its parameters"},
    {{"--precision"},
     [](const CompileOptions &options) {
       return trains(options) || options.precision == "fp32";
     },
     "belongs to --mode train"},
    {{"--weight-copies", "--loss-scale", "--moment-precision",
      "--gradient-histogram", "--aggregation"},
     trains,
     "belongs to --mode train"},
    {{"--recompute"},
     [](const CompileOptions &options) {
       return trains(options) || options.recompute.empty() ||
              options.recompute == "none";
     },
     "belongs to --mode train"},
    {{"--offload"},
     [](const CompileOptions &options) {
       return trains(options) || options.offload.empty();
     },
     "belongs to --mode train"},
    {{"--compress-activations"},
     [](const CompileOptions &options) {
       return trains(options) || options.compressActivations == "none";
     },
     "belongs to --mode train"},
    {{"--partition-activations"}, trains, "belongs to --mode train"},
    {{"--verify"},
     [](const CompileOptions &options) {
       return trains(options) || options.verify == "off";
     },
     "belongs to --mode train: steps of training are compared"},
    {{"--verify"},
     [](const CompileOptions &options) {
       return options.emit == Emit::Artifact || options.verify == "off";
     },
     "looks at programs before an artifact is written; --emit writes none"},
};

static const Rule kOfLosses[] = {
    {{"--class-axis", "--ignore-index", "--label-smoothing"},
     hasCrossEntropy,
     "belongs to --loss softmax-cross-entropy"},
    {{"--pos-weight"}, hasBinary, "belongs to --loss bce-with-logits"},
    {{"--class-weights"},
     [](const CompileOptions &options) {
       return hasCrossEntropy(options) || hasBinary(options);
     },
     "belongs to --loss softmax-cross-entropy or bce-with-logits"},
    {{"--huber-delta"},
     [](const CompileOptions &options) { return options.loss == "huber"; },
     "belongs to --loss huber"},
    {{"--loss-output"},
     [](const CompileOptions &options) {
       return options.loss == "none" || options.lossOutput.empty();
     },
     "belongs to --loss none"},
    {{"--logits"},
     [](const CompileOptions &options) {
       return options.loss != "none" || options.logits.empty();
     },
     "names no output with --loss none; use --loss-output"},
    {{"--labels"},
     [](const CompileOptions &options) {
       return options.loss != "none" || options.labels == "labels";
     },
     "has no meaning with --loss none: the model has all inputs that its loss "
     "needs"},
};

static const Rule kOfUpdates[] = {
    {{"--beta1", "--beta2", "--eps"},
     hasBetas,
     "belongs to --optimizer adam, adamw and onebit-adam"},
    {{"--freeze-step"}, isOneBit, "belongs to --optimizer onebit-adam"},
    {{"--momentum"}, hasMomentum, "belongs to --optimizer sgd and sm3"},
    {{"--nesterov"},
     [](const CompileOptions &options) {
       return getOptimizer(options.optimizer).hasNesterov;
     },
     "belongs to --optimizer sgd"},
    {{"--nesterov"},
     [](const CompileOptions &options) { return options.momentum > 0; },
     "needs a --momentum above 0"},
    {{"--no-weight-decay"},
     [](const CompileOptions &options) {
       // PyTorch's default.
       return options.weightDecay.value_or(
                  getOptimizer(options.optimizer).weightDecay) > 0;
     },
     "needs a --weight-decay above 0"},
    {{"--batchnorm-stats"},
     [](const CompileOptions &options) {
       return options.batchNorm == "train" ||
              options.batchNormStats == "global";
     },
     "belongs to --batchnorm train: frozen statistics are the same on every "
     "rank"},
};

static const Rule kOfRanks[] = {
    {{"--shard"}, hasRanks, "needs a --mesh of several ranks"},
    {{"--collective-algorithm"},
     [](const CompileOptions &options) {
       return hasRanks(options) || options.collectiveAlgorithm == "auto";
     },
     "needs a --mesh of several ranks"},
    {{"--bucket-mib"}, hasRanks, "needs a --mesh of several ranks"},
    {{"--bucket-mib"},
     [](const CompileOptions &options) { return options.zero < 3; },
     "belongs to --zero 0, 1 and 2; with --zero 3 --unit says what is gathered "
     "and reduced together"},
    {{"--tp-rules"},
     [](const CompileOptions &options) {
       return options.getAxisSize(axes::kTensor) > 1 ||
              options.tpRules == "auto";
     },
     "needs a --mesh with tp"},
    {{"--partition-activations"},
     [](const CompileOptions &options) {
       return options.getAxisSize(axes::kTensor) > 1;
     },
     "needs a --mesh with tp"},
    {{"--divide-messages"},
     [](const CompileOptions &options) {
       return options.getAxisSize(axes::kTensor) > 1 &&
              options.getAxisSize(axes::kRole) > 1;
     },
     "needs a --mesh with pp and tp"},
    {{"--divide-messages"},
     [](const CompileOptions &options) {
       return options.getAxisSize(axes::kToken) == 1;
     },
     "does not work with sp, whose ranks send each its tokens"},
    {{"--unit"},
     [](const CompileOptions &options) {
       return options.zero > 0 || options.unit == "auto" ||
              options.aggregation == "server";
     },
     "needs --zero 1, 2 or 3, or --aggregation server"},
    {{"--zero-group"},
     [](const CompileOptions &options) { return options.zero > 0; },
     "needs --zero 1, 2 or 3"},
    {{"--prefetch", "--reshard-last", "--no-reshard-after-forward"},
     [](const CompileOptions &options) { return options.zero == 3; },
     "belongs to --zero 3"},
    {{"--sequence-parallel"},
     [](const CompileOptions &options) {
       return options.getAxisSize(axes::kTensor) > 1 ||
              options.sequenceParallel.rfind("on", 0) != 0;
     },
     "on needs a --mesh with tp"},
    {{"--sp-attention", "--token-dim"},
     [](const CompileOptions &options) {
       return options.getAxisSize(axes::kToken) > 1 ||
              (options.spAttention == "auto" && options.tokenDims.empty());
     },
     "needs a --mesh with sp"},
    {{"--moe-group"},
     [](const CompileOptions &options) {
       return options.moeCapacity != "none" || options.moeGroup == "sample";
     },
     "needs --moe-capacity: without one there is room for all tokens of any "
     "group"},
};

static const Rule kOfPrecisions[] = {
    {{"--weight-copies"},
     [](const CompileOptions &options) {
       return options.precision != "fp32" || options.weightCopies == "on";
     },
     "needs --precision bf16, fp16 or fp8, also where the model's own "
     "parameters "
     "have 16 bits"},
    {{"--fp8-scaling", "--fp8-exclude"},
     [](const CompileOptions &options) { return options.precision == "fp8"; },
     "belongs to --precision fp8"},
    {{"--fp8-scaling"},
     [](const CompileOptions &options) {
       return !scalesByHistory(options) || options.aggregation != "server";
     },
     "delayed does not go with --aggregation server, whose workers keep no "
     "states from step to step; use current or block"},
    {{"--loss-scale"},
     [](const CompileOptions &options) { return options.precision == "fp16"; },
     "belongs to --precision fp16"},
    {{"--moment-precision"},
     [](const CompileOptions &options) {
       const OptimizerKind &optimizer = getOptimizer(options.optimizer);
       return options.momentPrecision == "fp32" ||
              (optimizer.countMoments(options.momentum) > 0 &&
               !isOneBit(options));
     },
     "needs an optimizer with first moments: adam, adamw, or sgd and sm3 with "
     "--momentum"},
    {{"--gradient-histogram"},
     [](const CompileOptions &options) { return !isOneBit(options); },
     "does not work with --optimizer onebit-adam, whose later steps add up no "
     "gradients"},
    {{"--aggregation"},
     [](const CompileOptions &options) {
       const bool isPlain =
           options.zero == 0 && options.optimizer != "onebit-adam" &&
           options.getAxisSize(axes::kSample) == options.getNumRanks();
       return options.aggregation == "all-reduce" ||
              (options.getNumRanks() > 1 && isPlain);
     },
     "server needs a --mesh with dp alone, and neither --zero nor --optimizer "
     "onebit-adam: zc plan --servers simulates several servers"},
    {{"--gather-precision"},
     [](const CompileOptions &options) {
       return options.zero == 3 && options.weightCopies == "off";
     },
     "needs --zero 3 and --weight-copies off: otherwise what is kept is "
     "gathered"},
    {{"--gradient-sums"},
     [](const CompileOptions &options) { return options.zero == 2; },
     "belongs to --zero 2"},
};

/// Nothing where the option is "auto", or is refused for other reasons.
static OffloadChoice offloaded(const CompileOptions &options) {
  return parseOffload(options.offload).value_or(OffloadChoice());
}

/// Whether the host is to update what the optimizer holds.
static bool updatesOnHost(const CompileOptions &options) {
  return offloaded(options).update;
}

/// Whether all GPUs of the target multiply floats of 8 bits; a plan is for
/// those of its cluster.
static bool multipliesFloat8(const CompileOptions &options) {
  int version = 0;
  llvm::StringRef arch = options.cudaArch;
  return isForCpus(options) || options.plansOnly ||
         (arch.consume_front("sm_") && !arch.getAsInteger(10, version) &&
          version >= 90);
}

static const Rule kOfTargets[] = {
    {{"--fp8-scaling"},
     [](const CompileOptions &options) {
       return options.float8Scaling != "block" || isForCpus(options) ||
              options.plansOnly || options.cudaArch == "sm_90";
     },
     "block needs --target cuda:sm_90: cuBLASLt, from CUDA 12.9 on, multiplies "
     "factors with scales of blocks of 128 on GPUs of compute capability 9.0 "
     "alone; for others there are current and delayed"},
    {{"--precision"},
     [](const CompileOptions &options) {
       return options.precision != "fp8" || multipliesFloat8(options);
     },
     "fp8 needs GPUs that multiply 8-bit floats: --target cuda:sm_90 or later; "
     "for others there is bf16"},
    {{"--offload"},
     [](const CompileOptions &options) {
       return isForGpus(options) || !updatesOnHost(options);
     },
     "update needs --target cuda: a CPU is its own host, and --offload "
     "optimizer keeps the states in a file"},
    {{"--offload"},
     [](const CompileOptions &options) {
       return !updatesOnHost(options) ||
              (options.precision != "fp32" && options.weightCopies == "on");
     },
     "update needs --precision bf16, fp16 or fp8, without --weight-copies "
     "off: float32 weights would cross to the host and back in every step"},
    {{"--offload"},
     [](const CompileOptions &options) {
       return !updatesOnHost(options) || !offloaded(options).parameters;
     },
     "update does not go with parameters: the device has the new weights of 16 "
     "bits when the host has computed them"},
    {{"--offload"},
     [](const CompileOptions &options) {
       return options.aggregation != "server" || !updatesOnHost(options);
     },
     "update does not go with --aggregation server; --zero 1 divides what the "
     "optimizer holds among all ranks"},
    {{"--offload"},
     [](const CompileOptions &options) {
       return options.aggregation != "server" || options.unit != "auto" ||
              (!offloaded(options).optimizer && !offloaded(options).parameters);
     },
     "of what a server holds needs --unit layer or --unit BYTES: a unit comes "
     "back as a whole, and by default it has up to 64 MiB"},
    {{"--offload"},
     [](const CompileOptions &options) {
       return !updatesOnHost(options) ||
              getOptimizer(options.optimizer).isElementwise;
     },
     "update needs an elementwise optimizer: adam, adamw or sgd"},
    {{"--offload"},
     [](const CompileOptions &options) {
       return !options.averageDecay || !updatesOnHost(options);
     },
     "update does not go with --ema: averages are computed on the device, "
     "which "
     "would read every float32 weight in every step"},
    {{"--cpu-threads"}, isForCpus, "belongs to --target cpu"},
    {{"--cpu-arch"},
     [](const CompileOptions &options) {
       return isForCpus(options) || updatesOnHost(options);
     },
     "belongs to --target cpu, or to --offload update"},
    {{"--cuda-path", "--cubins"}, isForGpus, "belongs to --target cuda"},
    {{"--matmul-precision"},
     [](const CompileOptions &options) {
       return isForGpus(options) || options.matmulPrecision != "tf32";
     },
     "tf32 belongs to --target cuda"},
    {{"--matmul-precision"},
     [](const CompileOptions &options) {
       return isForCpus(options) ||
              !llvm::StringRef(options.matmulPrecision).starts_with("bf16");
     },
     "bf16x3 and bf16x6 belong to --target cpu; cuda has tf32"},
};

/// Rules for options that need a certain mesh.
static const Rule kOfTheMesh[] = {
    {{"--batchnorm-stats"},
     [](const CompileOptions &options) {
       return dividesSamples(options) || options.batchNormStats == "global";
     },
     "needs a --mesh with dp or ep: one rank's share is the whole batch"},
    {{"--bucket-mib"},
     addsUpOverRanks,
     "needs a --mesh of several ranks that add up gradients: dp, ep, sp or "
     "tp"},
    {{"--reduce-precision"},
     [](const CompileOptions &options) {
       return addsUpOverRanks(options) || options.reducePrecision == "fp32";
     },
     "needs a --mesh of several ranks that add up gradients: dp, ep, sp or "
     "tp"},
};

static void checkRules(const CLI::App &command, const CompileOptions &options,
                       llvm::ArrayRef<Rule> rules) {
  for (const Rule &rule : rules)
    for (const char *option : rule.options)
      if (command.count(option) > 0 && !rule.holds(options))
        throw CLI::ValidationError(std::string(option) + " " + rule.why);
}

void zc::checkOptionRules(const CLI::App &command,
                          const CompileOptions &options) {
  for (llvm::ArrayRef<Rule> rules :
       {llvm::ArrayRef<Rule>(kOfTraining), llvm::ArrayRef<Rule>(kOfLosses),
        llvm::ArrayRef<Rule>(kOfUpdates), llvm::ArrayRef<Rule>(kOfRanks),
        llvm::ArrayRef<Rule>(kOfPrecisions), llvm::ArrayRef<Rule>(kOfTargets)})
    checkRules(command, options, rules);
}

void zc::checkMeshRules(const CLI::App &command,
                        const CompileOptions &options) {
  checkRules(command, options, kOfTheMesh);
}
