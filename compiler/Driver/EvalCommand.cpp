#include "compiler/Driver/Commands.h"
#include "compiler/Driver/Compile.h"
#include "compiler/Driver/Diagnostics.h"
#include "compiler/Driver/EmptyOutputs.h"
#include "compiler/Driver/Process.h"
#include "compiler/Import/Import.h"
#include "compiler/Interpreter/Npy.h"
#include "runtime/Base/File.h"

#include "llvm/Support/FileSystem.h"
#include <fcntl.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

using namespace zc;

namespace {
struct EvalArguments {
  std::string model;
  std::vector<std::string> inputs, dims, batchDims, inputValues;
  std::string outputDir, data, metrics, checkpoint, offloadDir;
  std::vector<std::string> trusted;
  bool json = false, sandbox = false, averages = false;
  std::optional<uint64_t> seed;
  std::optional<std::string> tuningFile; // empty: the usual one
  int64_t threads = 0, localRanks = 0, tokenBits = 0, maxTrips = 0;
};
} // namespace

static std::vector<std::string> makeArguments(const EvalArguments &given,
                                              const std::string &artifact) {
  std::vector<std::string> arguments = {"eval", artifact};
  for (const std::string &input : given.inputs)
    arguments.insert(arguments.end(), {"--input", input});
  for (const auto &[option, text] :
       {std::pair("--output-dir", &given.outputDir),
        {"--data", &given.data},
        {"--metrics", &given.metrics},
        {"--checkpoint", &given.checkpoint},
        {"--offload-dir", &given.offloadDir}})
    if (!text->empty())
      arguments.insert(arguments.end(), {option, *text});
  for (const std::string &trusted : given.trusted)
    arguments.insert(arguments.end(), {"--trust", trusted});
  if (given.sandbox)
    arguments.push_back("--sandbox");
  if (given.json)
    arguments.push_back("--json");
  if (given.averages)
    arguments.push_back("--ema");
  if (given.tokenBits)
    arguments.insert(arguments.end(),
                     {"--token-bits", std::to_string(given.tokenBits)});
  if (given.seed)
    arguments.insert(arguments.end(), {"--seed", std::to_string(*given.seed)});
  if (given.threads)
    arguments.insert(arguments.end(),
                     {"--threads", std::to_string(given.threads)});
  if (given.localRanks)
    arguments.insert(arguments.end(),
                     {"--local-ranks", std::to_string(given.localRanks)});
  if (given.tuningFile)
    arguments.push_back("--tune");
  if (given.tuningFile && !given.tuningFile->empty())
    arguments.push_back(*given.tuningFile);
  return arguments;
}

static bool isModel(llvm::StringRef path) {
  for (const char *extension :
       {".onnx", ".onnxtext", ".onnxtxt", ".textproto", ".pbtxt", ".prototxt"})
    if (path.ends_with(extension))
      return true;
  return false;
}

static void checkInputs(const std::vector<std::string> &inputs) {
  std::set<std::string> names;
  for (llvm::StringRef input : inputs)
    if (!names.insert(input.rsplit('=').first.str()).second)
      throw CLI::ValidationError(
          "--input", "names '" + input.rsplit('=').first.str() + "' twice");
}

// Sizes of dims that the user leaves to the files. Unreadable ones are reported
// by the run.
static std::map<std::string, int64_t> readDims(const EvalArguments &given) {
  constexpr int64_t kMaxBatch = 64;
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const std::string &input : given.inputs) {
    auto [name, path] = llvm::StringRef(input).rsplit('=');
    llvm::Expected<interpreter::Tensor> tensor = interpreter::readNpy(path);
    if (tensor)
      shapes[name.str()].assign(tensor->shape.begin(), tensor->shape.end());
    else
      llvm::consumeError(tensor.takeError());
  }
  return zc::readDims(given.model, shapes, kMaxBatch);
}

// Through an artifact that has no name any more when zc-run gets it: however
// that program ends, nothing stays behind.
static int evaluateModel(const EvalArguments &given) {
  for (llvm::StringRef input : given.inputs)
    if (llvm::StringRef path = input.rsplit('=').second;
        !llvm::sys::fs::is_regular_file(path))
      return reportError("'" + path.str() +
                         (llvm::sys::fs::exists(path)
                              ? "' is not a regular file"
                              : "' does not exist") +
                         "; expected NAME=FILE.npy");
  CompileOptions options;
  options.model = given.model;
  options.mode = "infer";
  options.dims = parseDims(given.dims);
  options.inputValues = parseInputValues(given.inputValues);
  options.maxTrips = given.maxTrips;
  for (const auto &[name, size] : readDims(given))
    options.dims.insert({name, size});
  options.batchDims = parseBatchDims(given.batchDims);
  options.cpuThreads = given.threads;
  options.quiet = true;
  std::vector<WithoutElements> empty;
  options.takesEmpty = [&](WithoutElements output) {
    empty.push_back(std::move(output));
  };
  Result<std::string> path = makeTemporaryFile("zc-eval", ".zca");
  if (!path.ok())
    return reportError(path.status().message());
  TemporaryName remembered(*path); // should a signal end us
  options.output = *path;
  // The file holds somebody's weights in a folder that everybody reads: nobody
  // else may read the file.
  mode_t mask = umask(0077);
  int code = compile(options);
  umask(mask);
  int descriptor = code == 0 ? open(path->c_str(), O_RDONLY) : -1;
  unlink(path->c_str());
  if (code != 0)
    return code;
  if (descriptor < 0)
    return reportError("cannot read a temporary file");
  if (!given.outputDir.empty() && !writeEmptyOutputs(given.outputDir, empty))
    return 1;
  return execRunner(
      makeArguments(given, "/proc/self/fd/" + std::to_string(descriptor)));
}

static void addMachineOptions(CLI::App &command, EvalArguments &given) {
  command
      .add_option("--offload-dir", given.offloadDir,
                  "folder for what the artifact offloads, in a file without a "
                  "name [$TMPDIR, or /var/tmp]")
      ->type_name("DIR");
  command
      .add_option("--threads", given.threads,
                  "at most what the artifact was compiled for; by default that")
      ->check(CLI::Range(1, 4096))
      ->default_str("");
  command
      .add_option_function<std::vector<std::string>>(
          "--tune",
          [&given](const std::vector<std::string> &texts) {
            given.tuningFile = texts.empty() ? "" : texts.front();
            const llvm::StringRef file = *given.tuningFile;
            if (file.ends_with(".zca") || file.ends_with(".onnx"))
              throw CLI::ValidationError(
                  "--tune", "takes '" + file.str() +
                                "' for its FILE; name the artifact first, or "
                                "give --tune FILE");
          },
          "compute products and convolutions in the ways that were quickest "
          "when they were measured, as for zc run")
      ->expected(0, 1)
      ->type_name("[FILE]");
  command
      .add_option("--local-ranks", given.localRanks,
                  "run all N ranks of an artifact as threads of one process")
      ->check(CLI::Range(1, 4096))
      ->type_name("N")
      ->default_str("");
  const char *trust =
      "Trust (an artifact is a program: it can do what you can)";
  command
      .add_option("--trust", given.trusted,
                  "run an artifact only if it is signed (zc sign) by this "
                  "public key, or has this hash; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEYFILE|sha256:HASH")
      ->default_str("")
      ->group(trust);
  command
      .add_flag("--sandbox", given.sandbox,
                "the artifact's code opens no files but those named, no "
                "connections and no programs")
      ->group(trust);
}

static void checkModel(const EvalArguments &given) {
  if (given.localRanks > 1)
    throw CLI::ValidationError("--local-ranks",
                               "is for artifacts; a model runs on one rank");
  if (!given.data.empty())
    throw CLI::ValidationError(
        "--data", "is for artifacts, which know their loss: zc compile " +
                      given.model + " --loss ...");
  if (given.averages)
    throw CLI::ValidationError("--ema", "is for an artifact's checkpoints");
  if (given.inputs.empty() || given.outputDir.empty())
    throw CLI::RequiredError("--input and --output-dir");
}

static void checkArtifact(const EvalArguments &given) {
  if (!given.dims.empty() || !given.batchDims.empty())
    throw CLI::ValidationError("--dim and --batch-dim",
                               "are for models; an artifact has its sizes");
  if (!given.inputValues.empty())
    throw CLI::ValidationError("--input-value",
                               "is for models; an artifact has its values");
  if (given.maxTrips)
    throw CLI::ValidationError("--max-trips",
                               "is for models; an artifact has its rounds");
}

Command zc::addEvalCommand(CLI::App &command) {
  auto given = std::make_shared<EvalArguments>();
  command
      .add_option("model", given->model,
                  "the artifact, OUT.zca, or a model, MODEL.onnx")
      ->required();
  command.add_option("--input", given->inputs, "NAME=FILE.npy, one each input")
      ->allow_extra_args(false)
      ->type_name("NAME=FILE.npy");
  command
      .add_option("--output-dir", given->outputDir,
                  "with --input, folder for NAME.npy of every output")
      ->type_name("DIR");
  command
      .add_option("--data", given->data,
                  "samples with labels, as for zc run, in place of --input: "
                  "print an artifact's loss and metrics")
      ->join(',')
      ->type_name("FILE");
  command
      .add_option("--token-bits", given->tokenBits,
                  "with --data, 16 or 32: how wide tokens are in .bin files "
                  "without a header [16]")
      ->check(CLI::IsMember({16, 32}))
      ->type_name("BITS")
      ->default_str("");
  command
      .add_option("--metrics", given->metrics,
                  "with --data, metrics besides the loss, separated by commas: "
                  "accuracy (always printed where the loss has one), top5, "
                  "perplexity, f1 (the mean over classes), mae, r2")
      ->type_name("LIST");
  command.add_flag("--json", given->json,
                   "with --data, print loss and metrics as JSON");
  command
      .add_option("--checkpoint", given->checkpoint,
                  "DIR (latest), DIR/step-N or DIR/best with trained weights")
      ->type_name("DIR");
  command.add_flag("--ema", given->averages,
                   "the checkpoint's moving averages of the weights in place "
                   "of the weights; zc compile --ema keeps them");
  command
      .add_option("--seed", given->seed,
                  "seed of the initial weights that a run would draw (zc "
                  "compile --init), without a checkpoint [0]")
      ->check(checkSeed);
  addDimOptions(command, given->dims, given->batchDims);
  addInputValueOption(command, given->inputValues);
  addMaxTripsOption(command, given->maxTrips);
  addMachineOptions(command, *given);
  return [given] {
    checkInputs(given->inputs);
    if (isModel(given->model) && !given->trusted.empty())
      throw CLI::ValidationError("--trust",
                                 "belongs to artifacts; a model holds no code");
    checkNoneTwice("--dim", given->dims);
    checkNoneTwice("--input-value", given->inputValues);
    checkNoneTwice("--batch-dim", given->batchDims);
    if (!isModel(given->model)) {
      checkArtifact(*given);
      return execRunner(makeArguments(*given, given->model));
    }
    checkModel(*given);
    return evaluateModel(*given);
  };
}
