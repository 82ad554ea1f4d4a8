// The options of `zc compile` that choose the loss and what it is of.
#ifndef ZC_COMPILER_DRIVER_LOSSOPTIONS_H
#define ZC_COMPILER_DRIVER_LOSSOPTIONS_H

#include "compiler/Driver/Options.h"
#include "runtime/Base/Status.h"

#include <CLI/CLI.hpp>
#include <vector>

namespace zc {

void addLossOptions(CLI::App &command, CompileOptions &options);

/// Throws CLI::ParseError where training lacks a loss.
void checkLossGiven(const CompileOptions &options);

/// The numbers of a .npy file for --class-weights: finite floats of at least 0
/// in one dim, and not all 0.
Result<std::vector<double>> readClassWeights(const std::string &path);

} // namespace zc

#endif
