#include "compiler/Driver/CompileChecks.h"

#include "compiler/Driver/ExpertOptions.h"
#include "compiler/Driver/LossOptions.h"
#include "compiler/Driver/MeshOptions.h"
#include "compiler/Driver/PipelineOptions.h"
#include "compiler/Driver/SequenceOptions.h"
#include "compiler/Driver/TargetOptions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace zc;

// Betas and epsilon would be ignored by the other optimizers.
static void checkOptimizerOptions(const CLI::App &command,
                                  const CompileOptions &options) {
  bool oneBit = options.optimizer == "onebit-adam";
  bool adam = options.optimizer == "adam" || options.optimizer == "adamw";
  for (const char *name : {"--beta1", "--beta2", "--eps"})
    if (!adam && !oneBit && command.count(name) > 0)
      throw CLI::ValidationError(
          name, "belongs to --optimizer adam, adamw and onebit-adam");
  if (!oneBit && command.count("--freeze-step") > 0)
    throw CLI::ValidationError("--freeze-step",
                               "belongs to --optimizer onebit-adam");
  if (oneBit && options.clipNorm > 0)
    throw CLI::ValidationError(
        "--clip-norm", "has no meaning with --optimizer onebit-adam: no rank "
                       "knows the norm of the mean gradient, of which none has "
                       "more than signs; leave it out");
  for (const char *name : {"--clip-value", "--group", "--ema"})
    if (oneBit && command.count(name) > 0)
      throw CLI::ValidationError(name,
                                 "does not go with --optimizer onebit-adam, "
                                 "whose ranks update from signs of momentum");
  if (oneBit && options.zero > 0)
    throw CLI::ValidationError(
        "--zero", "with --optimizer onebit-adam every rank compresses whole "
                  "momentum; expected --zero 0, found " +
                      std::to_string(options.zero));
}

// The forward alone has no loss and no update.
static void checkTrainingOptions(const CLI::App &command,
                                 const CompileOptions &options) {
  if (options.mode == "train")
    return;
  for (const char *name :
       {"--loss",          "--loss-output",     "--labels",
        "--class-axis",    "--ignore-index",    "--label-smoothing",
        "--class-weights", "--pos-weight",      "--huber-delta",
        "--optimizer",     "--momentum",        "--nesterov",
        "--beta1",         "--beta2",           "--eps",
        "--weight-decay",  "--no-weight-decay", "--freeze-step",
        "--clip-norm",     "--clip-value",      "--group",
        "--ema",           "--accumulate",      "--freeze",
        "--train",         "--batchnorm",       "--batchnorm-stats",
        "--dropout",       "--reduce-precision"})
    if (command.count(name) > 0)
      throw CLI::ValidationError(name, "belongs to --mode train");
}

// PyTorch's defaults.
static double getWeightDecay(const CompileOptions &options) {
  return options.weightDecay.value_or(options.optimizer == "adamw" ? 0.01 : 0);
}

// What no single option can check.
static void checkTogether(const CompileOptions &options) {
  if (options.emit == Emit::Ptx && options.target != "cuda")
    throw CLI::ValidationError("--emit", "ptx belongs to --target cuda");
  if (options.optimizer != "sgd" && options.nesterov)
    throw CLI::ValidationError("--nesterov", "belongs to --optimizer sgd");
  if (options.optimizer != "sgd" && options.optimizer != "sm3" &&
      options.momentum != 0)
    throw CLI::ValidationError("--momentum",
                               "belongs to --optimizer sgd and sm3");
  if (options.mode != "train" && options.precision != "fp32")
    throw CLI::ValidationError("--precision", "belongs to --mode train");
  if (options.mode != "train" && !options.recompute.empty() &&
      options.recompute != "none")
    throw CLI::ValidationError("--recompute", "belongs to --mode train");
  if (options.mode != "train" && !options.offload.empty())
    throw CLI::ValidationError("--offload", "belongs to --mode train");
  if (options.mode != "train" && options.compressActivations != "none")
    throw CLI::ValidationError("--compress-activations",
                               "belongs to --mode train");
  if (options.mode != "train" && options.partitionActivations)
    throw CLI::ValidationError("--partition-activations",
                               "belongs to --mode train");
  if (options.target != "cpu" &&
      llvm::StringRef(options.compressActivations).contains("sparse"))
    throw CLI::ValidationError("--compress-activations",
                               "'sparse' belongs to --target cpu");
  if (options.batchNorm == "frozen" && options.batchNormStats == "local")
    throw CLI::ValidationError("--batchnorm-stats",
                               "belongs to --batchnorm train: frozen "
                               "statistics are the same on every rank");
  if (std::string wrong = checkTargetTogether(options); !wrong.empty())
    throw CLI::ValidationError(wrong);
  if (std::string wrong = checkMeshTogether(options); !wrong.empty())
    throw CLI::ValidationError(wrong);
  if (std::string wrong = checkSequenceTogether(options); !wrong.empty())
    throw CLI::ValidationError(wrong);
  if (std::string wrong = checkExpertsTogether(options); !wrong.empty())
    throw CLI::ValidationError(wrong);
  if (std::string wrong = checkPipelineTogether(options); !wrong.empty())
    throw CLI::ValidationError(wrong);
  if (options.mode == "train" && !options.noWeightDecay.empty() &&
      getWeightDecay(options) == 0)
    throw CLI::ValidationError("--no-weight-decay",
                               "needs a --weight-decay above 0");
  if (options.target != "cpu" && options.cpuArchs != CompileOptions().cpuArchs)
    throw CLI::ValidationError("--cpu-arch", "belongs to --target cpu");
  if (options.nesterov && options.momentum == 0)
    throw CLI::ValidationError("--nesterov", "needs a --momentum above 0");
}

void zc::checkCompileOptions(const CLI::App &command,
                             const CompileOptions &options) {
  checkTrainingOptions(command, options);
  checkLossOptions(command, options);
  checkTogether(options);
  checkOptimizerOptions(command, options);
}
