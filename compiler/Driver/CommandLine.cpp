#include "compiler/Driver/CommandLine.h"

#include "compiler/Driver/Commands.h"
#include "compiler/Driver/Diagnostics.h"
#include "compiler/Driver/Process.h"
#include "compiler/Driver/Versions.h"
#include "runtime/Base/Surroundings.h"
#include "runtime/Base/Temporaries.h"
#include "runtime/Base/Usage.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <unistd.h>

using namespace zc;

constexpr int kFailed = 1, kWrongUsage = 2;

using Commands = std::vector<std::pair<CLI::App *, Command>>;

// The first argument, when it is no command and no option.
static std::string findUnknown(int argc, char **argv,
                               const Commands &commands) {
  if (argc < 2 || argv[1][0] == '-')
    return "";
  std::string word = argv[1], list;
  std::vector<std::string> known;
  for (auto &[command, work] : commands) {
    if (command->get_name() == word)
      return "";
    known.push_back(command->get_name());
    list += (list.empty() ? "" : ", ") + command->get_name();
  }
  std::string similar = findSimilar(word, known);
  return "there is no command '" + word + "'; " +
         (similar.empty() ? "" : "did you mean '" + similar + "'? ") +
         "the commands are " + list;
}

static std::vector<std::string> listOptions(const CLI::App &command) {
  std::vector<std::string> names;
  for (const CLI::Option *option : command.get_options())
    for (const std::string &name : option->get_lnames())
      names.push_back("--" + name);
  return names;
}

// Tells what is wrong, and where to read what is right.
static int refuse(const CLI::ParseError &error, const CLI::App &app) {
  const CLI::App *command = &app;
  std::string name = app.get_name();
  for (const CLI::App *each : app.get_subcommands()) {
    command = each;
    name += " " + each->get_name();
  }
  // CLI11 hands them up, and texts before options.
  std::vector<std::string> remaining = app.remaining(true);
  std::stable_partition(remaining.begin(), remaining.end(),
                        [](const std::string &each) { return each[0] == '-'; });
  std::string message = explainUsage(error.what());
  if (error.get_exit_code() == int(CLI::ExitCodes::ExtrasError) &&
      !remaining.empty())
    message = explainUnknown(remaining.front(), name, listOptions(*command));
  reportError(message);
  llvm::errs() << "see '" << name << " --help'\n";
  return kWrongUsage;
}

// `zc help` and `zc help COMMAND`.
static Command addHelpCommand(CLI::App &command, const CLI::App &app,
                              const Commands &commands) {
  auto topic = std::make_shared<std::string>();
  command.add_option("command", *topic, "the command to explain");
  return [topic, &app, &commands] {
    if (topic->empty()) {
      // CLI11's own way would be that of the command that was given.
      llvm::outs() << app.get_formatter()->make_help(
          &app, app.get_name(), CLI::AppFormatMode::Normal);
      return 0;
    }
    for (auto &[each, work] : commands) {
      if (each->get_name() != *topic)
        continue;
      if (*topic == "run" || *topic == "launch" || *topic == "sign" ||
          *topic == "doctor")
        return execRunner({*topic, "--help"});
      llvm::outs() << each->help(app.get_name());
      return 0;
    }
    throw CLI::ValidationError("there is no command '" + *topic + "'");
  };
}

// LLVM's stream would end the program when it finds that it could not write.
static int finish(int code) {
  llvm::outs().flush();
  if (!llvm::outs().has_error())
    return code;
  llvm::outs().clear_error();
  reportError("cannot write to standard output");
  return code == 0 ? kFailed : code;
}

// LLVM would end the program by a signal, and without what to do.
static void endOnFatalError(void *, const char *reason, bool) {
  const bool isThread = llvm::StringRef(reason).contains("pthread_create");
  reportError(isThread ? "the system starts no more threads; raise its limits "
                         "(ulimit -u, ulimit -v, pids.max)"
                       : std::string("internal error: ") + reason);
  removeTemporaries();
  _exit(kFailed);
}

int zc::runCommandLine(int argc, char **argv) {
  prepareForSurroundings("zc");
  keepToControlGroup();
  llvm::install_fatal_error_handler(endOnFatalError);
  llvm::install_bad_alloc_error_handler(
      [](void *, const char *, bool) { endOutOfMemory(); });
  endCleanlyOnSignals();
  CLI::App app("zc compiles ONNX models for training, ahead of time.", "zc");
  app.require_subcommand(1);
  app.set_version_flag("--version", [] { return getVersions(); });
  app.get_formatter()->column_width(34);
  app.option_defaults()->always_capture_default();

  Commands commands;
  auto add = [&](const char *name, const char *what, auto define) {
    CLI::App *command = app.add_subcommand(name, what);
    commands.push_back({command, define(*command)});
  };
  add("compile", "compile a model into an artifact", addCompileCommand);
  add("run", "train an artifact", addRunCommand);
  add("launch", "train with several processes, and restart them",
      addLaunchCommand);
  add("sign", "say who made an artifact", addSignCommand);
  add("eval", "run the forward over samples", addEvalCommand);
  add("verify", "check against ONNX's test data", addVerifyCommand);
  add("export", "write the trained model as ONNX", addExportCommand);
  add("inspect", "say what an artifact will do", addInspectCommand);
  add("plan", "say what a step takes on a described cluster", addPlanCommand);
  add("check", "say what of a model can be trained", addCheckCommand);
  add("doctor", "say what this machine has", addDoctorCommand);
  add("help", "explain a command, as COMMAND --help", [&](CLI::App &command) {
    return addHelpCommand(command, app, commands);
  });
  if (std::string unknown = findUnknown(argc, argv, commands);
      !unknown.empty()) {
    reportError(unknown);
    return kWrongUsage;
  }
  try {
    app.parse(argc, argv);
    for (auto &[command, work] : commands)
      if (command->parsed())
        return finish(work());
  } catch (const CLI::ParseError &error) {
    // --help and --version end so, too.
    return error.get_exit_code() == 0 ? app.exit(error) : refuse(error, app);
  } catch (const std::exception &error) {
    return reportError(std::string("internal error: ") + error.what());
  }
  return kWrongUsage;
}
