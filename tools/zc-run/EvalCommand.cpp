// `zc eval` of an artifact.
#include "runtime/Driver/Evaluator.h"
#include "runtime/Driver/SandboxOptions.h"
#include "runtime/Driver/Signals.h"
#include "runtime/Io/TokenFiles.h"
#include "tools/zc-run/TrustOptions.h"

namespace zc {

namespace {

struct EvalArguments {
  LaunchOptions ranks;
  bool isShut = false; // in a sandbox
  EvalOptions options;
  std::vector<std::string> inputs;
};

/// NAME=FILE with neither part empty.
std::string checkInput(const std::string &text) {
  size_t at = text.rfind('=');
  bool sound = at != std::string::npos && at > 0 && at + 1 < text.size();
  return sound ? "" : "expected NAME=FILE.npy, found '" + text + "'";
}

void addOptions(CLI::App &app, EvalArguments &given) {
  EvalOptions &options = given.options;
  app.add_option("artifact", options.artifact, "the artifact, OUT.zca")
      ->required();
  app.add_option("--input", given.inputs,
                 "NAME=FILE.npy, one for each input; the forward's outputs are "
                 "written")
      ->check(checkInput)
      ->allow_extra_args(false);
  app.add_option("--output-dir", options.outputDir,
                 "with --input, folder for NAME.npy of every output")
      ->type_name("DIR");
  app.add_option("--data", options.data,
                 "samples with labels, as for zc run: loss and metrics are "
                 "printed")
      ->join(',')
      ->type_name("FILE")
      ->group("Evaluation");
  addTokenBitsOption(app, options.tokenBits);
  addMetricsOption(app, options.metrics);
  app.add_flag("--json", options.json, "print loss and metrics as JSON")
      ->group("Evaluation");
  app.add_option("--checkpoint", options.checkpoint,
                 "DIR (latest), DIR/step-N or DIR/best with trained weights");
  app.add_flag("--ema", options.averages,
               "the checkpoint's moving averages of the weights in place of "
               "the weights; zc compile --ema keeps them");
  app.add_option("--seed", options.seed,
                 "seed of the initial weights that a run would draw, without a "
                 "checkpoint")
      ->capture_default_str()
      ->check(checkSeed);
  addMachineOptions(app, options.threads, options.offloadFolder);
  addTuneOption(app, options.tuningFile);
  addRankOptions(app, given.ranks);
  addTrustOptions(app, given.ranks, given.isShut);
}

/// Either outputs of the forward, or loss and metrics over samples.
void checkTogether(const CLI::App &app, const EvalArguments &given) {
  checkTune(app);
  const bool metrics = !given.options.data.empty();
  // A model may have no inputs.
  const bool forward =
      !given.inputs.empty() || (!metrics && !given.options.outputDir.empty());
  if (forward == metrics)
    throw CLI::ValidationError(
        forward ? "--input and --data exclude one another: the first asks for "
                  "the model's outputs, the second for loss and metrics"
                : "expected --input NAME=FILE.npy with --output-dir, or --data "
                  "FILE");
  if (forward && given.options.outputDir.empty())
    throw CLI::RequiredError("--output-dir");
  if (given.options.averages && given.options.checkpoint.empty())
    throw CLI::ValidationError(
        "--ema", "needs --checkpoint DIR, which has the averages");
  if (metrics && app.count("--output-dir"))
    throw CLI::ValidationError("--output-dir", "belongs to --input");
  for (const char *option : {"--token-bits", "--metrics", "--json"})
    if (forward && app.count(option))
      throw CLI::ValidationError(option, "belongs to --data");
  if (app.count("--token-bits") && !isTokenPath(given.options.data))
    throw CLI::ValidationError("--token-bits",
                               "belongs to .bin files of tokens; the type of "
                               "other data is written in it");
}

int run(const CLI::App &app, EvalArguments &given) {
  endOnSignals();
  checkTogether(app, given);
  for (const std::string &input : given.inputs) {
    // Names may contain '=', files less often so: the last one divides.
    size_t at = input.rfind('=');
    if (!given.options.inputs.emplace(input.substr(0, at), input.substr(at + 1))
             .second)
      throw CLI::ValidationError("--input",
                                 "names '" + input.substr(0, at) + "' twice");
  }
  if (given.isShut) {
    Result<SandboxPaths> paths = pathsOf(given.options, given.ranks.trusted);
    if (!paths.ok())
      return finish(paths.status());
    given.ranks.sandbox = *paths;
  }
  return finish(launch(given.ranks, [&](const Rank &rank) {
    return evaluate(given.options, rank);
  }));
}

} // namespace

Command addEvalCommand(CLI::App &app) {
  auto given = std::make_shared<EvalArguments>();
  addOptions(app, *given);
  return [given, &app] { return run(app, *given); };
}

} // namespace zc
