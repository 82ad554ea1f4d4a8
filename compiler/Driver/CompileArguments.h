// The options of `zc compile` as the command line gives them, for all commands
// that compile.
#ifndef ZC_COMPILER_DRIVER_COMPILEARGUMENTS_H
#define ZC_COMPILER_DRIVER_COMPILEARGUMENTS_H

#include "compiler/Driver/Options.h"

#include <CLI/CLI.hpp>

namespace zc {

/// CLI11 fills it in; strings become options when all of it has been read.
struct CompileArguments {
  CompileOptions options;
  std::vector<std::string> dims, batchDims, inputValues;
  std::string memoryBudget;
  std::string mesh;
  std::string emit = "artifact";
};

/// Adds all options of a compilation; model and output are the command's own.
/// `arguments` must outlive the command.
void addModelOptions(CLI::App &command, CompileArguments &arguments);

/// Turns what was read into options. Throws CLI::ParseError where a text is
/// given twice.
void completeOptions(const CLI::App &command, CompileArguments &arguments);

} // namespace zc

#endif
