// The subcommands of `zc`, one file each.
#ifndef ZC_COMPILER_DRIVER_COMMANDS_H
#define ZC_COMPILER_DRIVER_COMMANDS_H

#include <CLI/CLI.hpp>

#include <functional>

namespace zc {

/// Does the work of a command and returns the exit code. Wrong usage that the
/// options' own checks do not find is thrown as CLI::ParseError.
using Command = std::function<int()>;

Command addCheckCommand(CLI::App &app);
Command addCompileCommand(CLI::App &app);
Command addRunCommand(CLI::App &app);
Command addLaunchCommand(CLI::App &app);
Command addSignCommand(CLI::App &app);
Command addDoctorCommand(CLI::App &app);
Command addEvalCommand(CLI::App &app);
Command addExportCommand(CLI::App &app);
Command addInspectCommand(CLI::App &app);
Command addPlanCommand(CLI::App &app);
Command addVerifyCommand(CLI::App &app);

/// "NAME=SIZE" lists as maps; what checkDim and checkBatchDim accept.
std::map<std::string, int64_t> parseDims(const std::vector<std::string> &texts);
std::map<std::string, int64_t>
parseBatchDims(const std::vector<std::string> &texts);

/// Throws CLI::ValidationError when the texts, "NAME=VALUE", name something
/// twice and differently.
void checkNoneTwice(const char *option, const std::vector<std::string> &texts);

/// The error in a regular expression; empty: none.
std::string checkRegex(const std::string &text);

/// Checks of option values for CLI11. They return an error, or an empty text
/// for a finite number of at least 0, a finite number above 0, a number that a
/// seed may be, a whole number of at least 1, and any whole number of 64 bits.
std::string checkAmount(const std::string &text);
std::string checkPositive(const std::string &text);
std::string checkSeed(const std::string &text);
std::string checkCount(const std::string &text);
std::string checkInteger(const std::string &text);

/// Adds --dim and --batch-dim.
void addDimOptions(CLI::App &command, std::vector<std::string> &dims,
                   std::vector<std::string> &batchDims);

/// Adds --input-value, which is given as "INPUT=NUMBER".
void addInputValueOption(CLI::App &command, std::vector<std::string> &values);

/// Adds --max-trips.
void addMaxTripsOption(CLI::App &command, int64_t &most);
std::map<std::string, double>
parseInputValues(const std::vector<std::string> &texts);

} // namespace zc

#endif
