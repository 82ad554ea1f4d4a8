#include "tools/zc-run/Program.h"
#include "runtime/Base/Log.h"
#include "runtime/Base/Surroundings.h"
#include "runtime/Base/Usage.h"
#include "runtime/Driver/Signals.h"
#include "tools/zc-run/TrustOptions.h"

#include <algorithm>
#include <cstring>

#ifdef __SANITIZE_THREAD__
/// ThreadSanitizer cannot see how these libraries synchronize.
extern "C" const char *__tsan_default_suppressions() {
  return "called_from_lib:libdnnl.so\n"
         "called_from_lib:libmpi.so\n"
         "called_from_lib:libopen-pal.so\n"
         "called_from_lib:libopen-rte.so\n";
}
#endif

namespace {

constexpr int kWrongUsage = 2;

std::vector<std::string> optionNames(const CLI::App &command) {
  std::vector<std::string> names;
  for (const CLI::Option *option : command.get_options())
    for (const std::string &name : option->get_lnames())
      names.push_back("--" + name);
  return names;
}

/// Tells what is wrong, and where to read what is right.
int refuse(const std::string &message, const std::string &command) {
  zc::logError(message);
  std::fprintf(stderr, "see '%s --help'\n", command.c_str());
  return kWrongUsage;
}

int refuse(const CLI::ParseError &error, const CLI::App &app,
           const std::string &program) {
  const CLI::App *command = &app;
  std::string name = program;
  for (const CLI::App *each : app.get_subcommands()) {
    command = each;
    name = program + " " + each->get_name();
  }
  // CLI11 hands them up, and texts before options.
  std::vector<std::string> remaining = app.remaining(true);
  std::stable_partition(remaining.begin(), remaining.end(),
                        [](const std::string &each) { return each[0] == '-'; });
  if (error.get_exit_code() == int(CLI::ExitCodes::ExtrasError) &&
      !remaining.empty())
    return refuse(
        zc::explainUnknown(remaining.front(), name, optionNames(*command)),
        name);
  if (error.get_exit_code() == int(CLI::ExitCodes::RequiredError) &&
      command == &app && !remaining.empty() && remaining.front()[0] != '-')
    return refuse("there is no command '" + remaining.front() +
                      "' in zc-run, which runs what zc has compiled",
                  name);
  return refuse(zc::explainUsage(error.what()), name);
}

/// `zc-run help` and `zc-run help COMMAND`.
int help(const std::string &topic, const CLI::App &app) {
  if (topic.empty()) {
    // CLI11's own way would be that of the command that was given.
    std::fputs(app.get_formatter()
                   ->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal)
                   .c_str(),
               stdout);
    return 0;
  }
  const std::vector<const CLI::App *> found = app.get_subcommands(
      [&](const CLI::App *each) { return each->get_name() == topic; });
  if (found.empty())
    throw CLI::ValidationError("there is no command '" + topic + "'");
  std::fputs(found.front()->help(app.get_name()).c_str(), stdout);
  return 0;
}

} // namespace

int zc::runProgram(int argc, char **argv) {
  // zc replaces itself by this program, and keeps its name.
  const bool isZc = argc > 0 && std::strcmp(argv[0], "zc") == 0;
  const std::string program = isZc ? "zc" : "zc-run";
  zc::prepareForSurroundings(isZc ? "zc" : "zc-run");
  zc::installSignalHandlers();
  CLI::App app("Trains and evaluates what zc compiled.", program);
  app.require_subcommand(1);
  app.set_version_flag("--version", "zc-run " ZC_VERSION
                                    "\ndevices and MPI are plugins, of which "
                                    "zc-run doctor tells");
  app.get_formatter()->column_width(34);
  CLI::App *run = app.add_subcommand("run", "train an artifact");
  CLI::App *start = app.add_subcommand(
      "launch", "train with several processes, and restart them");
  CLI::App *eval = app.add_subcommand("eval", "run an artifact's forward");
  CLI::App *sign = app.add_subcommand("sign", "say who made an artifact");
  CLI::App *doctor = app.add_subcommand("doctor", "say what this machine has");
  CLI::App *links = app.add_subcommand("links", "measure what ranks send");
  links->group(""); // zc plan --calibrate calls it
  CLI::App *explain =
      app.add_subcommand("help", "explain a command, as COMMAND --help");
  std::string topic;
  explain->add_option("command", topic, "the command to explain");
  zc::Command train = zc::addRunCommand(*run);
  zc::Command supervise = zc::addLaunchCommand(*start);
  zc::Command evaluate = zc::addEvalCommand(*eval);
  zc::Command attest = zc::addSignCommand(*sign);
  zc::Command examine = zc::addDoctorCommand(*doctor);
  zc::Command measure = zc::addLinksCommand(*links);
  try {
    app.parse(argc, argv);
    const std::pair<CLI::App *, const zc::Command &> commands[] = {
        {run, train},   {start, supervise}, {eval, evaluate},
        {sign, attest}, {links, measure},   {doctor, examine}};
    for (const auto &[command, work] : commands)
      if (*command)
        return work();
    if (*explain)
      return zc::finish(help(topic, app));
    return kWrongUsage;
  } catch (const CLI::ParseError &error) {
    // --help and --version end so, too.
    return error.get_exit_code() == 0 ? app.exit(error)
                                      : refuse(error, app, program);
  }
}
