// The commands of zc-run, one file each.
#ifndef ZC_TOOLS_ZCRUN_COMMANDS_H
#define ZC_TOOLS_ZCRUN_COMMANDS_H

#include "runtime/Driver/Trainer.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace zc {

/// Does the work of a command; returns the exit code. Wrong usage that the
/// options' own checks do not find is thrown as CLI::ParseError.
using Command = std::function<int()>;

Command addRunCommand(CLI::App &app);
Command addLaunchCommand(CLI::App &app);
Command addEvalCommand(CLI::App &app);
Command addDoctorCommand(CLI::App &app);
/// A command whose results `zc plan` reads in its cluster file.
Command addLinksCommand(CLI::App &app);

/// Parses arguments as `zc run` does, without printing anything; throws, as a
/// command does, if they are wrong. `name` is that of the command in
/// messages.
TrainOptions readRunArguments(const std::string &name,
                              const std::vector<std::string> &arguments);

/// The exit code for what stopped the work, a failure, a signal or its end,
/// after saying what there is to say.
int finish(const Result<int> &result);

/// Checks for CLI11: the fault of the text, or "".
std::string checkSeed(const std::string &text);
std::string checkSteps(const std::string &text);
std::string checkPositive(const std::string &text);
/// A number in a range; CLI11's own lets "nan" through.
CLI::Validator isWithin(double least, double most);

/// Options of both commands.
void addRankOptions(CLI::App &app, LaunchOptions &options);
void addMachineOptions(CLI::App &app, int &threads, std::string &folder);
/// `file`: empty where the option is given without one.
void addTuneOption(CLI::App &app, std::optional<std::string> &file);
/// Throws where it is given beside --sandbox.
void checkTune(const CLI::App &app);
void addTokenBitsOption(CLI::App &app, int &bits);
void addMetricsOption(CLI::App &app, std::vector<std::string> &metrics);

} // namespace zc

#endif // ZC_TOOLS_ZCRUN_COMMANDS_H
