// The checks of `zc compile` that concern several options at once.
#ifndef ZC_COMPILER_DRIVER_COMPILECHECKS_H
#define ZC_COMPILER_DRIVER_COMPILECHECKS_H

#include "compiler/Driver/Options.h"

#include <CLI/CLI.hpp>

namespace zc {

/// Throws CLI::ParseError where an option would have no effect with the others,
/// or none that makes sense, or where one is missing.
void checkCompileOptions(const CLI::App &command,
                         const CompileOptions &options);

} // namespace zc

#endif
