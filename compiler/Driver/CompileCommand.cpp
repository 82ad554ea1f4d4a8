#include "compiler/Driver/CompileArguments.h"

#include "compiler/Driver/ClusterFile.h"
#include "compiler/Driver/Commands.h"
#include "compiler/Driver/Compile.h"
#include "compiler/Driver/CompileChecks.h"
#include "compiler/Driver/ExpertOptions.h"
#include "compiler/Driver/Float8Options.h"
#include "compiler/Driver/LossOptions.h"
#include "compiler/Driver/MeshOptions.h"
#include "compiler/Driver/MeshSet.h"
#include "compiler/Driver/OptionRules.h"
#include "compiler/Driver/ParameterGroups.h"
#include "compiler/Driver/PipelineOptions.h"
#include "compiler/Driver/SequenceOptions.h"
#include "compiler/Driver/TargetOptions.h"
#include "compiler/Import/InitialWeights.h"
#include "dialects/Interfaces/NamePattern.h"
#include "passes/Autodiff/Optimizers/Optimizers.h"
#include "passes/Memory/KeptEncoder.h"
#include "passes/Memory/MarkOffload.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Path.h"
#include <cmath>

using namespace zc;

std::string zc::checkRegex(const std::string &text) {
  llvm::Expected<NamePattern> pattern = NamePattern::parse(text);
  return pattern ? "" : llvm::toString(pattern.takeError());
}

std::string zc::checkAmount(const std::string &text) {
  double value = 0;
  if (CLI::detail::lexical_cast(text, value) && value >= 0 &&
      std::isfinite(value))
    return "";
  return "expected a finite number of at least 0, found " + text;
}

std::string zc::checkPositive(const std::string &text) {
  double value = 0;
  if (CLI::detail::lexical_cast(text, value) && value > 0 &&
      std::isfinite(value))
    return "";
  return "expected a finite number above 0, found " + text;
}

std::string zc::checkSeed(const std::string &text) {
  uint64_t value;
  return llvm::StringRef(text).getAsInteger(10, value)
             ? "expected a whole number from 0 to " +
                   std::to_string(UINT64_MAX) + ", found '" + text + "'"
             : "";
}

// A decay of 1 would divide by zero.
static std::string checkDecay(const std::string &text) {
  double value = 0;
  if (CLI::detail::lexical_cast(text, value) && value >= 0 && value < 1)
    return "";
  return "expected a number of at least 0 and below 1, found " + text;
}

// "16GiB", "1.5GB", "4096": bytes; none for what is no size above 0.
static std::optional<int64_t> parseSize(llvm::StringRef text) {
  static const std::pair<const char *, double> units[] = {
      {"KiB", 1024.0},
      {"MiB", 1024.0 * 1024},
      {"GiB", 1024.0 * 1024 * 1024},
      {"TiB", 1024.0 * 1024 * 1024 * 1024},
      {"KB", 1e3},
      {"MB", 1e6},
      {"GB", 1e9},
      {"TB", 1e12},
      {"B", 1.0}};
  double scale = 1;
  for (auto [unit, size] : units)
    if (text.ends_with_insensitive(unit)) {
      text = text.drop_back(llvm::StringRef(unit).size()).rtrim();
      scale = size;
      break;
    }
  double number;
  if (text.getAsDouble(number) || !(number > 0) || number * scale > 1e18)
    return std::nullopt;
  return static_cast<int64_t>(number * scale);
}

static std::string checkSize(const std::string &text) {
  return parseSize(text)
             ? ""
             : "expected a size such as 16GiB, 800MiB or a number of "
               "bytes, found '" +
                   text + "'";
}

static std::vector<std::string> listOptimizers() {
  std::vector<std::string> names;
  for (const OptimizerKind &each : getOptimizers())
    names.push_back(each.name.str());
  return names;
}

static void addOptimizerOptions(CLI::App &command, CompileOptions &options) {
  command
      .add_option("--optimizer", options.optimizer,
                  "the optimizer; onebit-adam: Adam up to --freeze-step, then "
                  "its second moment stays as it is and ranks send signs of "
                  "momentum, 8 a byte, and a scale (the root of the mean "
                  "square) per parameter in place of gradients; the error of "
                  "that is added to the next step's momentum")
      ->check(CLI::IsMember(listOptimizers()));
  command
      .add_option(
          "--freeze-step", options.freezeStep,
          "the last step of onebit-adam's warm-up, by when second moments "
          "should have settled (default as DeepSpeed's)")
      ->check(checkCount)
      ->type_name("N");
  command.add_option("--momentum", options.momentum, "momentum of sgd and sm3")
      ->check(checkAmount);
  command.add_flag("--nesterov", options.nesterov, "Nesterov momentum for sgd");
  command.add_option("--beta1", options.beta1, "decay of Adam's first moment")
      ->check(checkDecay);
  command.add_option("--beta2", options.beta2, "decay of Adam's second moment")
      ->check(checkDecay);
  command.add_option("--eps", options.eps, "added to Adam's denominator")
      ->check(checkAmount);
  command
      .add_option("--weight-decay", options.weightDecay,
                  "weight decay; by default 0.01 for adamw, else 0")
      ->check(checkAmount);
  command
      .add_option("--no-weight-decay", options.noWeightDecay,
                  "parameters that weight decay leaves alone")
      ->check(checkRegex)
      ->type_name("REGEX");
  command
      .add_option("--clip-norm", options.clipNorm,
                  "scale gradients down to this global norm")
      ->check(checkPositive)
      ->default_str("");
  command
      .add_option("--clip-value", options.clipValue,
                  "the largest magnitude of a gradient's element, after "
                  "--clip-norm")
      ->check(checkPositive)
      ->type_name("X")
      ->default_str("");
  command
      .add_option("--group", options.groups,
                  "parameters with a learning rate or weight decay of their "
                  "own, as in 'bias$:lr=2x,weight-decay=0'; the first group "
                  "that matches counts; repeatable")
      ->check([](const std::string &text) {
        auto group = GroupOption::parse(text);
        return group ? "" : llvm::toString(group.takeError());
      })
      ->allow_extra_args(false)
      ->type_name("REGEX:SETTINGS");
  command
      .add_option("--ema", options.averageDecay,
                  "keep an exponential moving average of the weights with this "
                  "decay, 4 bytes a parameter, for zc export --ema")
      ->check(checkDecay)
      ->type_name("DECAY");
}

static void addTrainingOptions(CLI::App &command, CompileOptions &options) {
  command
      .add_option(
          "--accumulate", options.accumulate,
          "parts of the batch that a step takes one after another; with "
          "pp, four for each role by default")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 20))
      ->type_name("K");
  command
      .add_option("--freeze", options.freeze,
                  "initializers that are not trained; wins over --train")
      ->check(checkRegex)
      ->type_name("REGEX");
  command
      .add_option("--train", options.train,
                  "the initializers that are trained; by default the model's "
                  "parameters")
      ->check(checkRegex)
      ->type_name("REGEX");
  command
      .add_option("--stop-gradient", options.stopGradient,
                  "nodes or values behind which no gradient flows, for a "
                  "detach() that the file has lost")
      ->check(checkRegex)
      ->type_name("REGEX");
  command.add_flag("--train-scales", options.trainScales,
                   "scales of QuantizeLinear and DequantizeLinear are "
                   "parameters, with LSQ's gradient");
  command
      .add_option("--batchnorm", options.batchNorm,
                  "batch statistics, or running ones left as they are")
      ->check(CLI::IsMember({"train", "frozen"}));
  command
      .add_option("--batchnorm-stats", options.batchNormStats,
                  "batch statistics of the global batch, or of every rank's "
                  "share alone, as in PyTorch's DDP: the running ones follow "
                  "those of the first share")
      ->check(CLI::IsMember({"global", "local"}));
  command
      .add_option("--dropout", options.dropout,
                  "on keeps the dropout that the model asks for in training")
      ->check(CLI::IsMember({"on", "off"}));
}

static std::string checkOffload(const std::string &text) {
  return text == "none" || (!text.empty() && parseOffload(text))
             ? ""
             : "expected none, or a list of optimizer, update, parameters, "
               "activations, separated by commas, found '" +
                   text + "'";
}

static std::string checkEncodings(const std::string &text) {
  std::string error;
  return parseEncodings(text, error) ? "" : error;
}

static void addKeptOptions(CLI::App &command, CompileOptions &options) {
  command
      .add_option(
          "--compress-activations", options.compressActivations,
          "store saved activations in fewer bytes where that lowers the peak: "
          "a list, separated by commas, of bits (one bit an element where the "
          "backward reads only the sign); sparse or sparse=DENSITY (the result "
          "of a ReLU that a convolution or matmul reads is stored without its "
          "zeros; there is room for this share of its elements, 0.6, and a run "
          "with more ends); bf16 or fp16 (float32 in 16 bits, fp16 at most "
          "+-65504: losses of equal weights stay the same, gradients are "
          "rounded); fp8 (floats of 32 and 16 bits in 8: E4M3, at most +-448, "
          "of which the backward makes sums and products or asks the sign; "
          "with bf16 or fp16 besides, others have 16 bits); or none")
      ->check(checkEncodings)
      ->type_name("LIST");
  command.add_flag("--partition-activations", options.partitionActivations,
                   "shard along tp the saved activations that all its ranks "
                   "would keep, where that lowers the peak; they are gathered "
                   "before the backward reads them");
}

/// Below 1, gradients are lost that fp16 holds unscaled; beyond the other,
/// gradients of 1e-5 overflow.
static std::string checkLossScale(const std::string &text) {
  constexpr double kLeast = 1, kMost = 4294967296;
  double value = 0;
  if (text == "dynamic" || (CLI::detail::lexical_cast(text, value) &&
                            value >= kLeast && value <= kMost))
    return "";
  return "expected dynamic or a number from 1 to 4294967296 (2^32), found '" +
         text + "'";
}

static void addMemoryOptions(CLI::App &command, CompileArguments &arguments) {
  command
      .add_option(
          "--precision", arguments.options.precision,
          "the type of a step's weights, activations and gradients; with bf16 "
          "and fp16 the optimizer updates float32 weights, which checkpoints "
          "and exports hold. fp16 scales the loss, skips steps whose gradients "
          "overflow, and is multiplied as float32 on CPUs. fp8 is bf16 but "
          "for products of values and weights and their gradients': factors "
          "are scaled by their largest magnitude and rounded to 8-bit floats, "
          "E4M3 for values and weights, E5M2 for gradients; the last layer "
          "stays in bf16. GPUs from sm_90 on multiply them so, CPUs the same "
          "numbers as bf16")
      ->check(CLI::IsMember({"fp32", "bf16", "fp16", "fp8"}));
  addFloat8Options(command, arguments.options);
  command
      .add_option("--reduce-precision", arguments.options.reducePrecision,
                  "the type in which ranks reduce gradients")
      ->check(CLI::IsMember({"fp32", "bf16"}));
  command
      .add_option("--moment-precision", arguments.options.momentPrecision,
                  "what Adam's first moments, or momentum, are stored in; they "
                  "are updated in float32")
      ->check(CLI::IsMember({"fp32", "bf16"}));
  command
      .add_option("--weight-copies", arguments.options.weightCopies,
                  "with 16 bits, whether rounded weights are kept from step to "
                  "step, or each is rounded in front of what reads it")
      ->check(CLI::IsMember({"on", "off"}));
  command.add_flag("--gradient-histogram", arguments.options.gradientHistogram,
                   "each step counts how large elements of gradients are, for "
                   "zc run --log and --tensorboard: which share would be lost "
                   "in fp16");
  command
      .add_option(
          "--loss-scale", arguments.options.lossScale,
          "with fp16, what the loss is scaled by: a number, or dynamic: "
          "less after a step whose gradients overflow, more after 2000 "
          "without one")
      ->check(checkLossScale)
      ->type_name("dynamic|X");
  command
      .add_option("--recompute", arguments.options.recompute,
                  "activations that the backward computes again: all but those "
                  "between layers (layer), or between sqrt(layers) segments "
                  "(sqrt); all but the results of library calls (selective); "
                  "or those that need least memory (full). By default none, "
                  "unless --memory-budget asks for some")
      ->check(CLI::IsMember({"none", "layer", "sqrt", "selective", "full"}))
      ->default_str("");
  command
      .add_option("--offload", arguments.options.offload,
                  "tensors that lie in a file (zc run --offload-dir), with "
                  "--target cuda in the host's memory, while nothing needs "
                  "them; copies beside the computation bring them and take "
                  "them away: a list, separated by commas, of optimizer "
                  "(moments, and the float32 weights behind 16-bit ones), "
                  "update (those, and the host's processor computes their new "
                  "values: gradients of 16 bits go there, weights of 16 bits "
                  "come back), parameters, activations (those that the "
                  "backward needs); or "
                  "none. By default none, unless --memory-budget asks for some")
      ->check(checkOffload)
      ->type_name("LIST");
  addKeptOptions(command, arguments.options);
  command
      .add_option("--memory-budget", arguments.memoryBudget,
                  "the most memory a rank may plan, as 16GiB, 800MiB or bytes; "
                  "without --recompute, zc takes the quickest plan that fits, "
                  "and without --offload it may keep values in a file or in "
                  "the host's memory")
      ->check(checkSize)
      ->type_name("SIZE")
      ->default_str("");
}

static std::string checkInit(const std::string &text) {
  auto init = InitialWeights::parse(text);
  return init ? ""
              : llvm::toString(init.takeError()) + ", found '" + text + "'";
}

static void addWeightOptions(CLI::App &command, CompileOptions &options) {
  command
      .add_option(
          "--init", options.init,
          "draw the initial weights at run time (zc run --seed), also those "
          "whose data file is absent; what is not trained keeps its data. "
          "normal:STD: weights of that standard deviation, biases 0, scales of "
          "normalisations 1. truncated-normal:STD: likewise, drawn again "
          "beyond two of these; truncated-normal:sqrt(S/n): of the deviation "
          "sqrt(S/n) for a weight of n inputs, such as S = 0.1. "
          "torch-default: as PyTorch's modules begin, by the "
          "operator that uses the weight: Linear, Conv and their biases "
          "uniform within 1/sqrt(fan in), LSTM 1/sqrt(hidden), Embedding "
          "normal:1, a tied one as Linear, normalisations 1 and 0; others "
          "normal:0.02, vectors 0. zeros: every weight 0. Running statistics "
          "begin at 0 and 1")
      ->check(checkInit)
      ->type_name("SPEC");
  command
      .add_option(
          "--weights", options.weights,
          "copy: the initial weights lie in the artifact. by-reference: it "
          "holds path, size and hash of the model's files instead, which are "
          "looked for at the same place as seen from the artifact, then at "
          "their absolute path; one that is missing or has changed ends the "
          "run before its first step")
      ->check(CLI::IsMember({"copy", "by-reference"}));
}

static void addOutputOptions(CLI::App &command, CompileArguments &arguments) {
  CompileOptions &options = arguments.options;
  command.add_option("--emit", arguments.emit, "what to write")
      ->check(CLI::IsMember({"onnx", "train", "step", "sharded", "sched",
                             "llvm", "ptx", "artifact"}));
  command
      .add_option(
          "--verify", options.verify,
          "prove on small dims, before the artifact is written, that each kind "
          "of op may be sharded so, and that the program trains as the plain "
          "one of one rank does: both run in the interpreter, and all tensors "
          "that they write are compared; on: for several ranks, beside the "
          "compilation, where that takes at most a tenth of its processor "
          "time, or a quarter of a second; "
          "deep: in any case, with fusion, recomputation and offloading too")
      ->check(CLI::IsMember({"on", "deep", "off"}));
  command
      .add_option("--dump-ir", options.dumpIr,
                  "folder for numbered IR files, one a pass")
      ->type_name("DIR");
  command.add_flag("-v,--verbose", options.verbose,
                   "print the time of every pass, and in the end a table with "
                   "the longest first");
}

static Emit parseEmit(const std::string &text) {
  const char *names[] = {"onnx",  "train", "step", "sharded",
                         "sched", "llvm",  "ptx",  "artifact"};
  for (auto [index, name] : llvm::enumerate(names))
    if (text == name)
      return Emit(index);
  return Emit::Artifact;
}

void zc::addModelOptions(CLI::App &command, CompileArguments &arguments) {
  CompileOptions &options = arguments.options;
  addDimOptions(command, arguments.dims, arguments.batchDims);
  addInputValueOption(command, arguments.inputValues);
  addMaxTripsOption(command, options.maxTrips);
  command
      .add_option("--batch", options.batch,
                  "samples of a step, also of a model that was exported with "
                  "another number of them")
      ->check(checkCount)
      ->type_name("N")
      ->default_str("");
  command
      .add_option("--mode", options.mode, "infer compiles the forward alone")
      ->check(CLI::IsMember({"train", "infer"}));
  addWeightOptions(command, options);
  auto group = [&](const char *name) {
    command.option_defaults()->group(name);
  };
  group("Loss");
  addLossOptions(command, options);
  group("Optimizer");
  addOptimizerOptions(command, options);
  group("Training");
  addTrainingOptions(command, options);
  group("Memory");
  addMemoryOptions(command, arguments);
  group("Ranks");
  addMeshOptions(command, options, arguments.mesh);
  addPipelineOptions(command, options);
  addExpertOptions(command, options);
  addSequenceOptions(command, options);
  group("Target and output");
  addTargetOptions(command, options);
  addOutputOptions(command, arguments);
}

void zc::completeOptions(const CLI::App &command, CompileArguments &arguments) {
  CompileOptions &options = arguments.options;
  options.dims = parseDims(arguments.dims);
  options.inputValues = parseInputValues(arguments.inputValues);
  options.batchDims = parseBatchDims(arguments.batchDims);
  options.memoryBudget = parseSize(arguments.memoryBudget).value_or(0);
  options.mesh = parseMesh(arguments.mesh);
  completePipelineOptions(command, options);
  options.emit = parseEmit(arguments.emit);
  checkNoneTwice("--dim", arguments.dims);
  checkNoneTwice("--input-value", arguments.inputValues);
  checkNoneTwice("--batch-dim", arguments.batchDims);
}

// MODEL.zca for MODEL.onnx.
static std::string getDefaultOutput(llvm::StringRef model) {
  llvm::SmallString<128> path(model);
  llvm::sys::path::replace_extension(path, "zca");
  return path.str().str();
}

static CompileOptions completeForMesh(const CLI::App &command,
                                      CompileArguments arguments,
                                      const std::string &mesh) {
  arguments.mesh = mesh;
  completeOptions(command, arguments);
  CompileOptions &options = arguments.options;
  if (options.emit == Emit::Artifact && options.output.empty())
    options.output = getDefaultOutput(options.model);
  compileForCluster(command, options);
  checkCompileOptions(command, options);
  checkMeshRules(command, options);
  return options;
}

Command zc::addCompileCommand(CLI::App &command) {
  auto arguments = std::make_shared<CompileArguments>();
  CompileOptions &options = arguments->options;
  command.add_option("model", options.model, "the model, MODEL.onnx")
      ->required();
  command
      .add_option("-o,--output", options.output,
                  "the artifact, by default MODEL.zca, or the file for --emit")
      ->type_name("OUT.zca");
  addModelOptions(command, *arguments);
  addClusterOption(command, options);
  command.get_option("--mesh")->join(kBetweenMeshes);
  return [arguments, &command] {
    std::vector<CompileOptions> each;
    for (const std::string &mesh : splitMeshes(arguments->mesh))
      each.push_back(completeForMesh(command, *arguments, mesh));
    if (each.size() == 1)
      return compile(each.front());
    if (each.front().emit != Emit::Artifact)
      throw CLI::ValidationError("--emit",
                                 "prints one program: give one --mesh");
    if (each.front().weights == "by-reference")
      throw CLI::ValidationError(
          "--weights by-reference",
          "goes with one --mesh: an artifact inside of another knows no files");
    return compileForMeshes(each);
  };
}
