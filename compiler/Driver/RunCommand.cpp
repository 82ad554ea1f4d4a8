#include "compiler/Driver/Commands.h"
#include "compiler/Driver/Process.h"

using namespace zc;

// zc-run knows the options of `zc run`, its --help too.
Command zc::addRunCommand(CLI::App &command) {
  command.prefix_command();
  command.set_help_flag();
  return [&command] {
    std::vector<std::string> arguments = {"run"};
    for (const std::string &argument : command.remaining())
      arguments.push_back(argument);
    return execRunner(arguments);
  };
}
