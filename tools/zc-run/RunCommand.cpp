// `zc run`.
#include "runtime/Base/Usage.h"
#include "runtime/Driver/CompiledSettings.h"
#include "runtime/Driver/EvaluationMetrics.h"
#include "runtime/Driver/SandboxOptions.h"
#include "runtime/Driver/Signals.h"
#include "runtime/Driver/StreamedBatches.h"
#include "runtime/Driver/Trainer.h"
#include "runtime/Io/TokenFiles.h"
#include "tools/zc-run/Commands.h"
#include "tools/zc-run/LearningRateOptions.h"
#include "tools/zc-run/RememberedOptions.h"
#include "tools/zc-run/TrustOptions.h"
#include "tools/zc-run/UpdateOptions.h"

#include <algorithm>
#include <charconv>

namespace zc {

namespace {

struct RunArguments {
  LaunchOptions ranks;
  bool isShut = false; // in a sandbox
  TrainOptions options;
};

void addDataOptions(CLI::App &app, TrainOptions &options) {
  const char *group = "Data";
  app.add_option("artifact", options.artifact, "the artifact, OUT.zca")
      ->required();
  app.add_option("--data", options.data,
                 ".npz, a folder of .npy files, .bin files of tokens, several "
                 "files divided by commas or as a pattern, or -: records of "
                 ".npy arrays on standard input, one for each input, the "
                 "labels last; required")
      ->join(',')
      ->type_name("FILE")
      ->group(group);
  addTokenBitsOption(app, options.tokenBits);
  auto *steps = app.add_option("--steps", options.steps,
                               "steps in all; this or --epochs is required")
                    ->check(checkPositive)
                    ->type_name("N")
                    ->group(group);
  app.add_option("--epochs", options.epochs, "passes over the data in all")
      ->check(checkPositive)
      ->type_name("N")
      ->excludes(steps)
      ->group(group);
  app.add_option("--seed", options.seed,
                 "seed of the order of samples, of dropout and of drawn "
                 "initial weights [0]")
      ->check(checkSeed)
      ->type_name("S")
      ->group(group);
  auto *shuffle = app.add_flag_callback(
      "--shuffle", [&] { options.shuffle = true; },
      "permute every epoch (default)");
  shuffle->group(group);
  app.add_flag_callback(
         "--no-shuffle", [&] { options.shuffle = false; },
         "take samples in order")
      ->excludes(shuffle)
      ->group(group);
}

void addCheckpointOptions(CLI::App &app, TrainOptions &options) {
  const char *group = "Checkpoints";
  CheckpointOptions &checkpoint = options.checkpoint;
  app.add_option("--checkpoint", checkpoint.place,
                 "folder for checkpoints; without it nothing is kept")
      ->type_name("DIR")
      ->group(group);
  app.add_option("--save-every", checkpoint.saveEvery,
                 "a checkpoint every K steps, besides the one at the end")
      ->check(checkPositive)
      ->type_name("K")
      ->group(group);
  app.add_option_function<std::string>(
         "--save-beside",
         [&](const std::string &text) { checkpoint.beside = text != "off"; },
         "auto: the checkpoints of --save-every are written while steps go "
         "on, from a copy of the states, where memory has room for that; off: "
         "steps wait")
      ->default_str("auto")
      ->check(CLI::IsMember({"auto", "off"}))
      ->type_name("auto|off")
      ->group(group);
  app.add_option("--keep", checkpoint.keep,
                 "keep the newest N checkpoints [all]")
      ->check(checkPositive)
      ->type_name("N")
      ->group(group);
  app.add_flag("--resume", checkpoint.resume,
               "go on from the latest checkpoint, or from DIR/step-N, with the "
               "options of the run so far unless others are given; begin where "
               "there is none yet")
      ->group(group);
  app.add_flag("--overwrite", checkpoint.overwrite,
               "remove the folder's checkpoints of another run, or those later "
               "than the one to go on from, when this run has one of its own")
      ->group(group);
  app.add_option("--replicate", options.replicas.saveEvery,
                 "a copy of the run every K steps in --replica-dir, of which "
                 "the newest stays; --resume goes on from it where it is newer "
                 "than the checkpoints")
      ->check(checkPositive)
      ->type_name("K")
      ->group(group);
  app.add_option("--replica-dir", options.replicas.place,
                 "folder in memory that outlives ranks, as /dev/shm/NAME; zc "
                 "launch --replicate K brings one")
      ->type_name("DIR")
      ->group(group);
  app.add_option("--init-from", options.initFrom,
                 "begin with weights of another artifact's checkpoint, or of "
                 "a .safetensors file, matched by name")
      ->type_name("DIR|FILE.safetensors")
      ->group(group);
}

void addEvaluationOptions(CLI::App &app, TrainOptions &options) {
  const char *group = "Evaluation";
  app.add_option("--eval-data", options.evalData,
                 "held-out samples, as for --data")
      ->join(',')
      ->type_name("FILE")
      ->group(group);
  app.add_option("--eval-every", options.evalEvery,
                 "evaluate every K steps, besides at the end")
      ->check(checkPositive)
      ->type_name("K")
      ->group(group);
  addMetricsOption(app, options.metrics);
  std::vector<std::string> names = metricNames();
  names.insert(names.begin(), "loss");
  app.add_option("--keep-best", options.keepBest,
                 "save whenever an evaluation is the best so far by this "
                 "metric; DIR/best names that checkpoint, which --keep keeps")
      ->check(CLI::IsMember(names))
      ->type_name("METRIC")
      ->group(group);
  app.add_option("--patience", options.patience,
                 "stop after N evaluations without a better one, by the "
                 "metric of --keep-best or the loss")
      ->check(checkPositive)
      ->type_name("N")
      ->group(group);
}

/// "10:12"; nothing where the text is no such thing.
std::optional<TraceWindow> parseWindow(const std::string &text) {
  TraceWindow window;
  const char *end = text.data() + text.size();
  auto [colon, wrong] = std::from_chars(text.data(), end, window.first);
  if (wrong != std::errc() || colon == end || *colon != ':')
    return std::nullopt;
  auto [last, alsoWrong] = std::from_chars(colon + 1, end, window.last);
  if (alsoWrong != std::errc() || last != end || window.first < 1 ||
      window.last < window.first)
    return std::nullopt;
  return window;
}

void addOutputOptions(CLI::App &app, TrainOptions &options) {
  const char *group = "Output";
  app.add_option("--log", options.log,
                 "JSON lines, one object a step; - is standard output")
      ->type_name("FILE.jsonl")
      ->group(group);
  app.add_option("--log-every", options.logEvery,
                 "a line of the log and of progress every N steps [the log: "
                 "each]")
      ->check(checkPositive)
      ->type_name("N")
      ->group(group);
  app.add_flag("--quiet", options.quiet, "no progress, the summary alone")
      ->group(group);
  app.add_option("--tensorboard", options.tensorboard,
                 "folder for TensorBoard's event files")
      ->type_name("DIR")
      ->group(group);
  app.add_option("--trace", options.trace,
                 "Chrome or Perfetto trace of every instruction, as JSON")
      ->type_name("FILE.json")
      ->group(group);
  app.add_option_function<std::string>(
         "--trace-steps",
         [&](const std::string &text) {
           options.traceSteps = *parseWindow(text);
         },
         "the steps that --trace shows, both included, as 10:12 [all]")
      ->check([](const std::string &text) {
        return parseWindow(text)
                   ? ""
                   : "expected two steps, the first not behind the second, as "
                     "10:12, found '" +
                         text + "'";
      })
      ->type_name("FIRST:LAST")
      ->group(group);
  app.add_flag("--profile", options.profile,
               "print time by forward, backward and optimizer, and by kind of "
               "op")
      ->group(group);
}

/// An option that has no effect unless `holds`.
struct Need {
  const char *option;
  bool holds;
  const char *what;
};

void checkNeeds(const CLI::App &app, const std::vector<Need> &needs) {
  for (const Need &need : needs)
    if (app.count(need.option) && !need.holds)
      throw CLI::ValidationError(need.option, strCat("needs ", need.what));
}

/// Options that would have no effect without others.
void checkTogether(const CLI::App &app, const TrainOptions &options) {
  const bool saves = !options.checkpoint.place.empty();
  const bool copies = !options.replicas.place.empty();
  const bool evaluates = !options.evalData.empty();
  const bool writes = !options.log.empty() || !options.tensorboard.empty();
  // A run that goes on takes over how often it showed itself.
  const bool shows = writes || !options.quiet || options.checkpoint.resume;
  // Perplexity also follows from each step's loss.
  const bool ofSteps =
      options.metrics == std::vector<std::string>{"perplexity"} && writes;
  constexpr const char *kCheckpoint = "--checkpoint DIR";
  constexpr const char *kEvalData = "--eval-data FILE";
  checkNeeds(
      app,
      {{"--save-every", saves, kCheckpoint},
       {"--save-beside", saves, kCheckpoint},
       {"--save-beside", options.checkpoint.saveEvery > 0,
        "--save-every K: no steps go on beside the checkpoint at the end"},
       {"--keep", saves, kCheckpoint},
       {"--resume", saves || copies, kCheckpoint},
       {"--replicate", copies, "--replica-dir DIR, as zc launch has it"},
       {"--replica-dir", options.replicas.saveEvery > 0, "--replicate K"},
       {"--overwrite", saves, kCheckpoint},
       {"--overwrite",
        !options.checkpoint.resume || isCheckpoint(options.checkpoint.place),
        "with --resume, a --checkpoint DIR/step-N that is there: it says that "
        "later checkpoints may be removed"},
       {"--keep-best", saves, kCheckpoint},
       {"--trace-steps", !options.trace.empty(), "--trace FILE.json"},
       {"--eval-every", evaluates, kEvalData},
       {"--keep-best", evaluates, kEvalData},
       {"--patience", evaluates, kEvalData},
       {"--patience", options.evalEvery > 0,
        "--eval-every K: the evaluation at the end stops nothing"},
       {"--metrics", evaluates || ofSteps,
        "--eval-data FILE; perplexity, --log or --tensorboard"},
       {"--log-every", shows, "--log or --tensorboard beside --quiet"}});
}

/// Refuses options for another kind of data, before the options of a resumed
/// run are added.
void checkTokens(const CLI::App &app, const TrainOptions &options) {
  if (app.count("--token-bits") && app.count("--data") &&
      !isTokenPath(options.data) && !isTokenPath(options.evalData))
    throw CLI::ValidationError("--token-bits",
                               "belongs to .bin files of tokens; the type of "
                               "other data is written in it");
}

/// A stream is read once, in its order.
void checkStream(const CLI::App &app, const TrainOptions &options) {
  if (options.data != kStandardInput)
    return;
  for (const char *option : {"--epochs", "--shuffle"})
    if (app.count(option))
      throw CLI::ValidationError(
          option, "does not go with --data -: samples that arrive on standard "
                  "input are taken once, in their order");
}

/// A checkpoint is written by the artifact's code: it may not say which files a
/// sandbox lets it open.
void dropPaths(NamedTexts &remembered) {
  for (const std::string name :
       {"data", "eval-data", "log", "tensorboard", "trace", "init-from",
        "offload-dir", "replica-dir", "checkpoint", "folder"}) {
    eraseText(remembered, name);
    eraseText(remembered, "--" + name);
  }
}

/// Takes over the options of a resumed run from its checkpoint.
void takeOverOptions(CLI::App &app, TrainOptions &options) {
  const CheckpointOptions &checkpoint = options.checkpoint;
  if (!checkpoint.resume || checkpoint.place.empty())
    return;
  auto found = findCheckpoint(checkpoint.place);
  if (!found.ok())
    return; // the run itself says what that means
  auto saved = readTrainState(*found);
  if (!saved.ok())
    return;
  if (app.count("--sandbox"))
    dropPaths(saved->options);
  options.takenOver = takeOver(app, saved->options);
}

/// A best checkpoint is chosen by what is evaluated.
void wantMetricOfBest(TrainOptions &options) {
  const std::string &best = options.keepBest;
  auto &metrics = options.metrics;
  if (!best.empty() && best != "loss" &&
      std::find(metrics.begin(), metrics.end(), best) == metrics.end())
    metrics.push_back(best);
}

/// Fails where no rank could train with these options.
void check(CLI::App &app, TrainOptions &options) {
  checkTokens(app, options);
  takeOverOptions(app, options);
  if (options.data.empty())
    throw CLI::RequiredError("--data");
  if (!options.steps && !options.epochs)
    throw CLI::RequiredError("--steps or --epochs");
  checkTogether(app, options);
  checkStream(app, options);
  checkTune(app);
  if (app.count("--sandbox") && !options.trace.empty())
    throw CLI::ValidationError("--trace", "does not go with --sandbox: it is "
                                          "renamed into its folder at the end, "
                                          "which stays shut");
  checkLearningRateOptions(app, options);
}

int run(CLI::App &app, RunArguments &given) {
  endOnSignals();
  TrainOptions &options = given.options;
  check(app, options);
  options.record = remember(app);
  wantMetricOfBest(options);
  if (given.isShut) {
    Result<SandboxPaths> paths = pathsOf(options, given.ranks.trusted);
    if (!paths.ok())
      return finish(paths.status());
    given.ranks.sandbox = *paths;
  }
  return finish(launch(given.ranks,
                       [&](const Rank &rank) { return train(options, rank); }));
}

} // namespace

static void addOptions(CLI::App &app, RunArguments &given) {
  TrainOptions &options = given.options;
  addDataOptions(app, options);
  addLearningRateOptions(app, options.learningRate);
  addUpdateOptions(app, options);
  addCheckpointOptions(app, options);
  addEvaluationOptions(app, options);
  addOutputOptions(app, options);
  app.add_option("--max-time", options.maxTime,
                 "stop after the step that ends S seconds or more after the "
                 "start, and save")
      ->check(isWithin(0.001, 1e12))
      ->type_name("S")
      ->group("Machine");
  addMachineOptions(app, options.threads, options.offloadFolder);
  addTuneOption(app, options.tuningFile);
  addRankOptions(app, given.ranks);
  addTrustOptions(app, given.ranks, given.isShut);
}

Command addRunCommand(CLI::App &app) {
  auto given = std::make_shared<RunArguments>();
  addOptions(app, *given);
  return [given, &app] { return run(app, *given); };
}

/// Options before texts, which are superfluous because of one.
static std::string explainExtras(const CLI::App &app, const std::string &name) {
  std::vector<std::string> extras = app.remaining(), known;
  std::stable_partition(extras.begin(), extras.end(),
                        [](const std::string &each) { return each[0] == '-'; });
  for (const CLI::Option *option : app.get_options())
    for (const std::string &each : option->get_lnames())
      known.push_back("--" + each);
  return explainUnknown(extras.front(), name, known);
}

TrainOptions readRunArguments(const std::string &name,
                              const std::vector<std::string> &arguments) {
  CLI::App app("", name);
  RunArguments given;
  addOptions(app, given);
  try {
    // CLI11 takes them from the end.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ExtrasError &) {
    throw CLI::ValidationError(explainExtras(app, name));
  }
  check(app, given.options);
  if (given.ranks.localRanks > 0)
    throw CLI::ValidationError("--local-ranks",
                               "does not go with zc launch, whose ranks are "
                               "processes: -n N");
  return given.options;
}

} // namespace zc
