#include "compiler/Driver/CommandLine.h"

#include "compiler/Driver/Commands.h"
#include "compiler/Driver/Diagnostics.h"
#include "compiler/Driver/Process.h"
#include "compiler/Driver/Versions.h"
#include "runtime/Base/Surroundings.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"

using namespace zc;

constexpr int kFailed = 1, kWrongUsage = 2;

using Commands = std::vector<std::pair<CLI::App *, Command>>;

// The first argument, when it is no command and no option.
static std::string findUnknown(int argc, char **argv,
                               const Commands &commands) {
  if (argc < 2 || argv[1][0] == '-')
    return "";
  std::string word = argv[1], known;
  for (auto &[command, work] : commands) {
    if (command->get_name() == word)
      return "";
    known += (known.empty() ? "" : ", ") + command->get_name();
  }
  return "there is no command '" + word + "'; the commands are " + known;
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

int zc::runCommandLine(int argc, char **argv) {
  prepareForSurroundings("zc");
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
  add("eval", "run the forward over samples", addEvalCommand);
  add("verify", "check against ONNX's test data", addVerifyCommand);
  add("export", "write the trained model as ONNX", addExportCommand);
  add("inspect", "say what an artifact will do", addInspectCommand);
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
    return app.exit(error) == 0 ? 0 : kWrongUsage;
  } catch (const std::exception &error) {
    return reportError(std::string("internal error: ") + error.what());
  }
  return kWrongUsage;
}
