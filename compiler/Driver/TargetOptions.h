// The options of `zc compile` that say what the artifact is for.
#ifndef ZC_COMPILER_DRIVER_TARGETOPTIONS_H
#define ZC_COMPILER_DRIVER_TARGETOPTIONS_H

#include "compiler/Driver/Options.h"
#include "passes/Target/Passes.h"

#include <CLI/CLI.hpp>

namespace zc {

/// Adds --target, --libraries, --matmul-precision and what says more of a
/// device.
void addTargetOptions(CLI::App &command, CompileOptions &options);

/// The error in options that do not go together; empty when all is well.
std::string checkTargetTogether(const CompileOptions &options);

/// For the pass that tells all others of the target.
AnnotateTargetPassOptions getTargetOptions(const CompileOptions &options);

} // namespace zc

#endif
