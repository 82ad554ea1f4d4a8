//===- OptimizerOptions.h - how parameters are updated ----------*- C++ -*-===//
#ifndef ZC_COMPILER_DRIVER_OPTIMIZEROPTIONS_H
#define ZC_COMPILER_DRIVER_OPTIMIZEROPTIONS_H

#include "compiler/Driver/Options.h"

#include <CLI/CLI.hpp>

namespace zc {

/// Adds --optimizer and what belongs to it, of decay, clipping, groups and
/// averages.
void addOptimizerOptions(CLI::App &command, CompileOptions &options);

} // namespace zc

#endif // ZC_COMPILER_DRIVER_OPTIMIZEROPTIONS_H
