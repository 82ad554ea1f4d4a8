#include "compiler/Driver/CompileArguments.h"

#include "compiler/Driver/ClusterFile.h"
#include "compiler/Driver/Commands.h"
#include "compiler/Driver/Compile.h"
#include "compiler/Driver/CompileChecks.h"
#include "compiler/Driver/ExpertOptions.h"
#include "compiler/Driver/LossOptions.h"
#include "compiler/Driver/MemoryOptions.h"
#include "compiler/Driver/MeshOptions.h"
#include "compiler/Driver/MeshSet.h"
#include "compiler/Driver/OptimizerOptions.h"
#include "compiler/Driver/OptionRules.h"
#include "compiler/Driver/PipelineOptions.h"
#include "compiler/Driver/SequenceOptions.h"
#include "compiler/Driver/TargetOptions.h"
#include "compiler/Import/InitialWeights.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Path.h"

using namespace zc;

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

/// Returns the exit code.
static int completeForMesh(const CLI::App &command, CompileArguments arguments,
                           const std::string &mesh,
                           std::vector<CompileOptions> &each) {
  arguments.mesh = mesh;
  completeOptions(command, arguments);
  CompileOptions &options = arguments.options;
  if (options.emit == Emit::Artifact && options.output.empty())
    options.output = getDefaultOutput(options.model);
  if (int code = compileForCluster(command, options))
    return code;
  checkCompileOptions(command, options);
  checkMeshRules(command, options);
  each.push_back(options);
  return 0;
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
      if (int code = completeForMesh(command, *arguments, mesh, each))
        return code;
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
