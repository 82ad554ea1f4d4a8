// zc-run: trains and evaluates artifacts. Needs nothing but glibc and libstdc++
// until it opens a device's plugin.
#include "runtime/Base/Log.h"
#include "runtime/Base/Surroundings.h"
#include "runtime/Driver/Evaluator.h"
#include "runtime/Driver/Launch.h"
#include "runtime/Driver/Signals.h"
#include "runtime/Driver/Trainer.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>

#ifdef __SANITIZE_THREAD__
/// What these libraries do among themselves, ThreadSanitizer cannot see.
extern "C" const char *__tsan_default_suppressions() {
  return "called_from_lib:libdnnl.so\n"
         "called_from_lib:libmpi.so\n"
         "called_from_lib:libopen-pal.so\n"
         "called_from_lib:libopen-rte.so\n";
}
#endif

namespace {

constexpr int kFailed = 1, kWrongUsage = 2, kSignalled = 128;

/// What another rank tells of is not told twice.
int fail(const zc::Status &status) {
  if (status.code() != zc::StatusCode::Cancelled)
    zc::logError(status.message());
  return kFailed;
}

/// The exit code for what stopped the work: a failure, a signal or its end.
int finish(const zc::Result<int> &result) {
  if (!result.ok())
    return fail(result.status());
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    zc::logError("cannot write to standard output");
    return kFailed;
  }
  return *result ? kSignalled + *result : 0;
}

int runTrain(const zc::LaunchOptions &ranks, const zc::TrainOptions &options) {
  return finish(zc::launch(
      ranks, [&](const zc::Rank &rank) { return zc::train(options, rank); }));
}

int runEval(const zc::LaunchOptions &ranks, zc::EvalOptions &options,
            const std::vector<std::string> &inputs) {
  for (const std::string &input : inputs) {
    // Names may contain '=', files less often so: the last one divides.
    size_t at = input.rfind('=');
    if (!options.inputs.emplace(input.substr(0, at), input.substr(at + 1))
             .second) {
      zc::logError("--input names '" + input.substr(0, at) + "' twice");
      return kWrongUsage;
    }
  }
  return finish(zc::launch(ranks, [&](const zc::Rank &rank) {
    return zc::evaluate(options, rank);
  }));
}

/// NAME=FILE with neither part empty.
std::string checkInput(const std::string &text) {
  size_t at = text.rfind('=');
  bool sound = at != std::string::npos && at > 0 && at + 1 < text.size();
  return sound ? "" : "expected NAME=FILE.npy, found '" + text + "'";
}

std::string checkLearningRate(const std::string &text) {
  char *end = nullptr;
  float value = std::strtof(text.c_str(), &end);
  bool sound =
      end != text.c_str() && *end == '\0' && std::isfinite(value) && value >= 0;
  return sound ? ""
               : "expected a number of at least 0 that float32 holds, at most "
                 "3.4e38; found '" +
                     text + "'";
}

/// A whole number without a sign, from `least` to `most`. The text is looked
/// at, for what no number of 64 bits holds would be clamped.
std::string checkNumber(const std::string &text, uint64_t most,
                        uint64_t least = 0) {
  uint64_t value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  bool sound = error == std::errc() && end == text.data() + text.size() &&
               value >= least && value <= most;
  return sound ? ""
               : "expected a whole number from " + std::to_string(least) +
                     " to " + std::to_string(most) + ", found '" + text + "'";
}

std::string checkSeed(const std::string &text) {
  return checkNumber(text, UINT64_MAX);
}

std::string checkSteps(const std::string &text) {
  return checkNumber(text, INT64_MAX);
}

std::string checkPositive(const std::string &text) {
  return checkNumber(text, INT64_MAX, 1);
}

void addLearningRateOptions(CLI::App &app, zc::LearningRateSchedule &schedule) {
  using Kind = zc::LearningRateSchedule::Kind;
  app.add_option("--lr", schedule.peak, "learning rate")
      ->capture_default_str()
      ->check(checkLearningRate);
  static const std::map<std::string, Kind> kinds = {
      {"constant", Kind::Constant},
      {"cosine", Kind::Cosine},
      {"linear", Kind::Linear}};
  app.add_option_function<std::string>(
         "--lr-schedule",
         [&](const std::string &name) { schedule.kind = kinds.at(name); },
         "constant, cosine or linear: down to --min-lr at the last step "
         "[constant]")
      ->check(CLI::IsMember({"constant", "cosine", "linear"}))
      ->type_name("TEXT");
  app.add_option("--warmup-steps", schedule.warmupSteps,
                 "steps in which the learning rate grows to --lr")
      ->capture_default_str()
      ->check(checkSteps);
  app.add_option("--min-lr", schedule.lowest,
                 "where the schedule ends, unless constant")
      ->capture_default_str()
      ->check(checkLearningRate);
}

void addRankOptions(CLI::App &app, zc::LaunchOptions &options) {
  app.add_option("--local-ranks", options.localRanks,
                 "run all N ranks as threads of this process, without a "
                 "launcher")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  app.add_option("--timeout", options.timeout,
                 "seconds that ranks wait for one another")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 1e9))
      ->type_name("S");
}

void addOffloadOption(CLI::App &app, std::string &folder) {
  app.add_option("--offload-dir", folder,
                 "folder for what the artifact offloads, in a file without a "
                 "name [$TMPDIR, or /var/tmp]")
      ->type_name("DIR");
}

void addTrainOptions(CLI::App &app, zc::TrainOptions &options) {
  app.add_option("artifact", options.artifact, "the artifact, OUT.zca")
      ->required();
  app.add_option("--data", options.data,
                 ".npz, a folder of .npy files, or .bin files of tokens")
      ->required();
  app.add_option("--token-bits", options.tokenBits,
                 "16 or 32: how wide tokens are in .bin files without a header "
                 "[16]")
      ->check(CLI::IsMember({16, 32}))
      ->type_name("BITS");
  auto *steps = app.add_option("--steps", options.steps, "total steps")
                    ->check(checkPositive);
  auto *epochs =
      app.add_option("--epochs", options.epochs, "total passes over the data")
          ->check(checkPositive);
  steps->excludes(epochs);
  app.add_option("--seed", options.seed,
                 "what the order of samples, dropout and drawn initial weights "
                 "depend on [0]")
      ->check(checkSeed);
  auto *shuffle = app.add_flag_callback(
      "--shuffle", [&] { options.shuffle = true; },
      "permute every epoch (default)");
  app.add_flag_callback(
         "--no-shuffle", [&] { options.shuffle = false; },
         "take samples in order")
      ->excludes(shuffle);
  addLearningRateOptions(app, options.learningRate);
  auto *checkpoint = app.add_option("--checkpoint", options.checkpoint,
                                    "folder for checkpoints");
  app.add_option("--save-every", options.saveEvery,
                 "a checkpoint every K steps, besides the one at the end")
      ->check(checkPositive)
      ->needs(checkpoint);
  app.add_option("--keep", options.keep, "keep the newest N checkpoints [all]")
      ->check(checkPositive)
      ->needs(checkpoint);
  app.add_flag("--resume", options.resume, "go on from the latest checkpoint")
      ->needs(checkpoint);
  app.add_option("--log", options.log, "JSON lines, one object a step");
  app.add_option("--tensorboard", options.tensorboard,
                 "folder for TensorBoard's event files");
  app.add_option("--trace", options.trace,
                 "Chrome or Perfetto trace of every instruction, as JSON");
  app.add_flag("--profile", options.profile, "print time per kind of op");
  auto *evalData = app.add_option("--eval-data", options.evalData,
                                  "held-out samples, as for --data");
  app.add_option("--eval-every", options.evalEvery,
                 "evaluate every K steps, besides at the end")
      ->check(checkPositive)
      ->needs(evalData);
  addOffloadOption(app, options.offloadFolder);
  app.add_option("--threads", options.threads,
                 "at most what the artifact was compiled for [all of that]")
      ->check(CLI::Range(1, 4096));
}

void addEvalOptions(CLI::App &app, zc::EvalOptions &options,
                    std::vector<std::string> &inputs) {
  app.add_option("artifact", options.artifact, "the artifact, OUT.zca")
      ->required();
  app.add_option("--input", inputs, "NAME=FILE.npy, one for each input")
      ->check(checkInput)
      ->allow_extra_args(false);
  app.add_option("--output-dir", options.outputDir,
                 "folder for NAME.npy of every output")
      ->required();
  app.add_option("--checkpoint", options.checkpoint,
                 "DIR (latest) or DIR/step-N with trained weights");
  app.add_option("--seed", options.seed,
                 "without a checkpoint, of weights that a run would draw")
      ->capture_default_str()
      ->check(checkSeed);
  app.add_option("--threads", options.threads,
                 "at most what the artifact was compiled for [all of that]")
      ->check(CLI::Range(1, 4096));
  addOffloadOption(app, options.offloadFolder);
}

} // namespace

int main(int argc, char **argv) {
  zc::prepareForSurroundings("zc-run");
  zc::installSignalHandlers();
  CLI::App app("Trains and evaluates what zc compiled.", "zc");
  app.require_subcommand(1);
  app.set_version_flag("--version", "zc-run " ZC_VERSION);
  CLI::App *run = app.add_subcommand("run", "train an artifact");
  CLI::App *eval = app.add_subcommand("eval", "run an artifact's forward");
  zc::LaunchOptions ranks;
  zc::TrainOptions trainOptions;
  zc::EvalOptions evalOptions;
  std::vector<std::string> inputs;
  addTrainOptions(*run, trainOptions);
  addRankOptions(*run, ranks);
  addRankOptions(*eval, ranks);
  addEvalOptions(*eval, evalOptions, inputs);
  try {
    app.parse(argc, argv);
    if (*run && !trainOptions.steps && !trainOptions.epochs)
      throw CLI::RequiredError("--steps or --epochs");
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : kWrongUsage;
  }
  return *run ? runTrain(ranks, trainOptions)
              : runEval(ranks, evalOptions, inputs);
}
