// `zc launch`: the ranks of `zc run` as processes of this machine.
#include "runtime/Comm/Launcher.h"
#include "runtime/Driver/Signals.h"
#include "runtime/Driver/StreamedBatches.h"
#include "runtime/Driver/Supervisor.h"
#include "tools/zc-run/Commands.h"

namespace zc {

namespace {

struct LaunchArguments {
  SupervisorOptions options;
  std::string program; // "zc", or "zc-run"
};

void checkRestarts(const SupervisorOptions &launch, const TrainOptions &run) {
  if (launch.maxRestarts > 0 && launch.checkpoint.place.empty() &&
      launch.replicateEvery == 0)
    throw CLI::ValidationError(
        "--max-restarts", "needs --checkpoint DIR among the options of zc run, "
                          "or --replicate K: a restart goes on from these");
  if (launch.replicateEvery > 0 && launch.maxRestarts == 0)
    throw CLI::ValidationError(
        "--replicate", "needs --max-restarts N: only a restart reads the copy");
  if (launch.minRanks > 0 && launch.maxRestarts == 0)
    throw CLI::ValidationError("--min-ranks", "needs --max-restarts K");
  if (launch.minRanks >= launch.ranks)
    throw CLI::ValidationError("--min-ranks",
                               strCat("expected fewer than the ", launch.ranks,
                                      " ranks of the start"));
  if (launch.maxRestarts > 0 && run.data == kStandardInput)
    throw CLI::ValidationError("--max-restarts",
                               "does not go with --data -: samples that have "
                               "arrived on standard input do not arrive again");
  if (!run.replicas.place.empty())
    throw CLI::ValidationError(
        "--replica-dir", "zc launch brings a folder of its own: --replicate K "
                         "before the artifact");
}

int runLaunch(const CLI::App &app, LaunchArguments &given) {
  endOnSignals();
  SupervisorOptions &options = given.options;
  const std::vector<std::string> arguments = app.remaining();
  if (arguments.empty())
    throw CLI::RequiredError("artifact");
  if (arguments.front().rfind("-", 0) == 0)
    throw CLI::ValidationError(
        arguments.front(),
        "is no option of zc launch; those of zc run stand behind the artifact");
  const TrainOptions run =
      readRunArguments(given.program + " launch", arguments);
  options.checkpoint = run.checkpoint;
  options.artifact = run.artifact;
  checkRestarts(options, run);
  if (Status alone = checkNoLauncher(); !alone.ok())
    return finish(alone.withContext("zc launch"));
  options.command = {given.program, "run"};
  options.command.insert(options.command.end(), arguments.begin(),
                         arguments.end());
  Result<int> code = supervise(options);
  return code.ok() ? *code : finish(code);
}

} // namespace

Command addLaunchCommand(CLI::App &app) {
  auto given = std::make_shared<LaunchArguments>();
  SupervisorOptions &options = given->options;
  given->program = app.get_parent()->get_name();
  app.prefix_command();
  app.footer("OUT.zca RUN-OPTIONS follow, as for zc run:\n"
             "  zc launch -n 4 --max-restarts 3 OUT.zca --data train.npz ...\n"
             "An artifact is a program: it can do what you can, unless "
             "--trust or --sandbox are among them.");
  app.add_option("-n,--ranks", options.ranks,
                 "how many ranks to start on this machine; required")
      ->check(CLI::Range(1, 4096))
      ->type_name("N")
      ->required();
  app.add_option("--max-restarts", options.maxRestarts,
                 "where a rank dies, begin again from the latest checkpoint, K "
                 "times in all; not where it was refused, as the next start "
                 "would be, too [0]")
      ->check(checkPositive)
      ->type_name("K");
  app.add_option("--min-ranks", options.minRanks,
                 "a restart goes on with the ranks that are left, N at least, "
                 "where the artifact has a mesh for so many [with all again]")
      ->check(CLI::Range(1, 4095))
      ->type_name("N");
  app.add_option("--replicate", options.replicateEvery,
                 "a copy of the run in this machine's memory every K steps, "
                 "which a restart goes on from where it is newer than the "
                 "checkpoints; 1: no step is lost")
      ->check(checkPositive)
      ->type_name("K");
  return [given, &app] { return runLaunch(app, *given); };
}

} // namespace zc
