#include "compiler/Driver/CommandLine.h"

#include "compiler/Driver/Commands.h"
#include "compiler/Driver/Diagnostics.h"
#include "compiler/Driver/Process.h"
#include "compiler/Driver/Versions.h"

using namespace zc;

constexpr int kWrongUsage = 2;

int zc::runCommandLine(int argc, char **argv) {
  endCleanlyOnSignals();
  CLI::App app("zc compiles ONNX models for training, ahead of time.", "zc");
  app.require_subcommand(1);
  app.set_version_flag("--version", [] { return getVersions(); });
  app.get_formatter()->column_width(34);
  app.option_defaults()->always_capture_default();

  std::vector<std::pair<CLI::App *, Command>> commands;
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
  try {
    app.parse(argc, argv);
    for (auto &[command, work] : commands)
      if (command->parsed())
        return work();
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : kWrongUsage;
  } catch (const std::exception &error) {
    return reportError(std::string("internal error: ") + error.what());
  }
  return kWrongUsage;
}
