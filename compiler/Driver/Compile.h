// `zc compile`.
#ifndef ZC_COMPILER_DRIVER_COMPILE_H
#define ZC_COMPILER_DRIVER_COMPILE_H

#include "compiler/Driver/Options.h"

namespace zc {

/// Compiles as `options` say, prints what a user wants to know, and returns the
/// exit code.
int compile(const CompileOptions &options);

} // namespace zc

#endif
