#include "compiler/Driver/PipelineOptions.h"

#include "compiler/Driver/Commands.h"
#include "compiler/Driver/MeshOptions.h"
#include "compiler/Driver/NoFlushOptions.h"
#include "compiler/Driver/ScheduleOptions.h"
#include "dialects/Interfaces/NamePattern.h"
#include "dialects/Onnx/Location.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Autodiff/Optimizers/Optimizers.h"
#include "runtime/Base/File.h"
#include "runtime/Plan/Axes.h"
#include "runtime/Plan/Order/Versions.h"

#include "llvm/ADT/StringSet.h"

using namespace zc;

/// Micro-batches of a step for each role: enough to keep the roles busy for
/// most of it.
static constexpr int64_t kMicroBatchesPerRole = 4;

static std::string checkStages(const std::string &text) {
  return text == "auto" ? "" : CLI::ExistingFile(text);
}

void zc::addPipelineOptions(CLI::App &command, CompileOptions &options) {
  addScheduleOptions(command, options);
  command
      .add_option("--stages", options.stages,
                  "with pp, where the model is cut: auto, by cost; or a file "
                  "with lines of a node or a regular expression of nodes or "
                  "modules, a colon and a stage, as in 'layers.3: 1'")
      ->check(checkStages)
      ->type_name("auto|FILE");
  command
      .add_option("--write-stages", options.writeStages,
                  "with pp, write to FILE where the model was cut")
      ->type_name("FILE")
      ->default_str("");
  // For tests: the artifact is the same.
  command.add_flag("!--no-shared-roles", options.sharesRoles)->group("");
}

void zc::completePipelineOptions(const CLI::App &command,
                                 CompileOptions &options) {
  completeScheduleOptions(options);
  const int64_t roles = options.getAxisSize(axes::kRole);
  if (roles > 1 && options.mode == "train" && options.schedule != "stash" &&
      command.count("--accumulate") == 0)
    options.accumulate = kMicroBatchesPerRole * roles;
}

/// Checks the options that --stage-replicas goes with; the schedule checks the
/// numbers.
static std::string checkReplicasTogether(const CompileOptions &options) {
  if (options.stageReplicas == "off")
    return "";
  if (options.schedule != "1f1b" && options.schedule != "gpipe" &&
      options.schedule != "naive")
    return "--stage-replicas goes with --schedule 1f1b, gpipe or naive, not "
           "with " +
           options.schedule;
  if (options.stageReplicas == "auto" && options.stages != "auto")
    return "--stage-replicas auto chooses the stages; with --stages FILE, say "
           "how many ranks each has, as in 2,1";
  return "";
}

std::string zc::checkPipelineTogether(const CompileOptions &options) {
  const CompileOptions defaults;
  if (std::string wrong = checkWithoutFlush(options); !wrong.empty())
    return wrong;
  if (options.getAxisSize(axes::kRole) == 1) {
    if (isWithoutFlush(options.schedule))
      return options.writeStages.empty()
                 ? ""
                 : "--write-stages needs a --mesh with pp";
    if (options.schedule != defaults.schedule)
      return "--schedule needs a --mesh with pp";
    if (options.chunks != defaults.chunks)
      return "--chunks needs a --mesh with pp and --schedule interleaved";
    if (options.stages != defaults.stages)
      return "--stages needs a --mesh with pp, or --schedule 2bw or stash";
    if (!options.writeStages.empty())
      return "--write-stages needs a --mesh with pp";
    return options.stageReplicas == "off"
               ? ""
               : "--stage-replicas needs a --mesh with pp";
  }
  if (std::string wrong = checkReplicasTogether(options); !wrong.empty())
    return wrong;
  if (options.mode != "train")
    return "a --mesh with pp belongs to --mode train: the forward alone needs "
           "no pipeline; leave pp at 1";
  if (options.loss == "none")
    return "--loss none has no labels to count, so that a step cannot be added "
           "up from micro-batches, which pp needs; leave pp at 1";
  if (options.optimizer == "onebit-adam")
    return "--optimizer onebit-adam compresses a step's whole momentum, which "
           "no role of a pipeline has; leave pp at 1";
  if (options.partitionActivations || options.compressActivations != "none")
    return "--compress-activations and --partition-activations do not go with "
           "pp: micro-batches under way keep their activations in rings";
  if (options.chunks != defaults.chunks && options.schedule != "interleaved")
    return "--chunks belongs to --schedule interleaved";
  if (Result<PipelineSchedule> schedule = chooseSchedule(options);
      !schedule.ok())
    return "--schedule: " + schedule.status().message();
  return "";
}

double zc::estimateBytesPerParameter(const CompileOptions &options) {
  double shares = double(options.zeroGroup > 0 ? options.zeroGroup
                                               : countSampleShares(options));
  auto divided = [&](double bytes, int64_t fromStage) {
    return options.zero >= fromStage ? bytes / shares : bytes;
  };
  double moments =
      4 * getOptimizer(options.optimizer).countMoments(options.momentum);
  if (options.momentPrecision == "bf16")
    moments -= 2;
  if (options.averageDecay)
    moments += 4;
  // Older versions of what the forward reads.
  double older = 0;
  for (int64_t delay : getDelayOptions(options, "").delays)
    older = std::max(older, double(delay));
  const double kWhole = 4, kCopy = 2 * (1 + older), kGradient = 4;
  // Where there are copies, the forward reads them, and the update the rest.
  if (options.precision != "fp32" && options.weightCopies == "on")
    return divided(kWhole + moments, 1) + divided(kGradient, 2) +
           divided(kCopy, 3);
  return divided(moments, 1) + divided(kGradient, 2) +
         divided(kWhole * (1 + older), 3);
}

llvm::Expected<std::string> zc::parseStageFile(llvm::StringRef text,
                                               llvm::StringRef path) {
  std::string rules;
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  for (auto [index, line] : llvm::enumerate(lines)) {
    line = line.trim();
    if (line.empty() || line.starts_with("#"))
      continue;
    auto [pattern, stage] = line.rsplit(':');
    int64_t number;
    std::string error = checkRegex(pattern.trim().str());
    bool sound = !stage.trim().getAsInteger(10, number) && number >= 0 &&
                 !pattern.trim().empty() && error.empty();
    if (!sound)
      return llvm::createStringError(
          path + ":" + llvm::Twine(index + 1) +
          ": expected a node or a regular expression, a colon and a stage, as "
          "in 'layers.3: 1'; found " +
          quoteExpression(line) + (error.empty() ? "" : " (" + error + ")"));
    rules += (pattern.trim() + " " + stage.trim() + "\n").str();
  }
  if (rules.empty())
    return llvm::createStringError(
        path + ": expected lines of a node or a regular expression, a colon "
               "and a stage; found none");
  return rules;
}

/// A regular expression that finds this name alone.
static std::string escape(llvm::StringRef name) {
  std::string text = "^";
  for (char c : name) {
    if (llvm::StringRef("\\^$.|?*+()[]{}").contains(c))
      text += '\\';
    text += c;
  }
  return text + "$";
}

Status zc::writeStageFile(mlir::ModuleOp module, const std::string &path) {
  auto step = module.lookupSymbol<mlir::func::FuncOp>(train::kStepProgram);
  std::string text = "# the stage of each node of the model: NODE: stage\n";
  llvm::StringSet<> seen;
  for (mlir::Operation &op : step.getBody().front()) {
    auto stage = op.getAttrOfType<mlir::IntegerAttr>(train::kStageAttr);
    auto origin = zc::onnx::getOrigin(op.getLoc());
    if (stage && origin && seen.insert(origin->node).second)
      text +=
          escape(origin->node) + ": " + std::to_string(stage.getInt()) + "\n";
  }
  return writeFile(path, text);
}
