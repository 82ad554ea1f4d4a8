// `zc compile`.
#ifndef ZC_COMPILER_DRIVER_COMPILE_H
#define ZC_COMPILER_DRIVER_COMPILE_H

#include "compiler/Driver/Options.h"
#include "runtime/Plan/Manifest.pb.h"

namespace zc {

/// Compiles as `options` say, prints what a user wants to know, and returns the
/// exit code.
int compile(const CompileOptions &options);

/// The same; `verdict` becomes lines on what --verify has shown, as they are
/// printed, also where the options ask for silence.
int compile(const CompileOptions &options, std::string &verdict);

/// The samples of a step of the model; 0: no input counts samples. Returns the
/// exit code.
int findBatch(const CompileOptions &options, int64_t &batch);

/// Compiles up to the plan, without code and weights; returns the exit code.
/// `options.plansOnly` is set.
int compilePlan(const CompileOptions &options, plan::Manifest &manifest);

} // namespace zc

#endif
