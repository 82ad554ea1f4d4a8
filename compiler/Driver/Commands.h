// The subcommands of `zc`, one file each.
#ifndef ZC_COMPILER_DRIVER_COMMANDS_H
#define ZC_COMPILER_DRIVER_COMMANDS_H

#include <CLI/CLI.hpp>

#include <functional>

namespace zc {

/// Does the work of a command and returns the exit code. Wrong usage that the
/// options' own checks do not find is thrown as CLI::ParseError.
using Command = std::function<int()>;

Command addCompileCommand(CLI::App &app);
Command addRunCommand(CLI::App &app);
Command addEvalCommand(CLI::App &app);
Command addExportCommand(CLI::App &app);
Command addInspectCommand(CLI::App &app);
Command addVerifyCommand(CLI::App &app);

/// "NAME=SIZE" lists as maps; what checkDim and checkBatchDim accept.
std::map<std::string, int64_t> parseDims(const std::vector<std::string> &texts);
std::map<std::string, int64_t>
parseBatchDims(const std::vector<std::string> &texts);

/// Adds --dim and --batch-dim.
void addDimOptions(CLI::App &command, std::vector<std::string> &dims,
                   std::vector<std::string> &batchDims);

} // namespace zc

#endif
