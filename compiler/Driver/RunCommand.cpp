#include "compiler/Driver/Commands.h"
#include "compiler/Driver/Process.h"

using namespace zc;

// zc-run knows the options of these commands, their --help too.
static Command addRunnersCommand(CLI::App &command, const char *name) {
  command.prefix_command();
  command.set_help_flag();
  return [&command, name] {
    std::vector<std::string> arguments = {name};
    for (const std::string &argument : command.remaining())
      arguments.push_back(argument);
    return execRunner(arguments);
  };
}

Command zc::addRunCommand(CLI::App &command) {
  return addRunnersCommand(command, "run");
}

Command zc::addLaunchCommand(CLI::App &command) {
  return addRunnersCommand(command, "launch");
}

Command zc::addSignCommand(CLI::App &command) {
  return addRunnersCommand(command, "sign");
}

Command zc::addDoctorCommand(CLI::App &command) {
  return addRunnersCommand(command, "doctor");
}
