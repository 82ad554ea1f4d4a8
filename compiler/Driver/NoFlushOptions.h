//===- NoFlushOptions.h - schedules that never drain ------------*- C++ -*-===//
#ifndef ZC_COMPILER_DRIVER_NOFLUSHOPTIONS_H
#define ZC_COMPILER_DRIVER_NOFLUSHOPTIONS_H

#include "compiler/Driver/Options.h"
#include "passes/Pipeline/Passes.h"

namespace zc {

/// An error that names an option which does not go with a schedule without
/// flush; empty: all do, or the schedule has a flush.
std::string checkWithoutFlush(const CompileOptions &options);

/// How old the versions are that steps read. `stageRules` as parseStageFile()
/// has them, for one rank that reproduces a pipeline; empty: stages are roles.
MarkDelaysPassOptions getDelayOptions(const CompileOptions &options,
                                      llvm::StringRef stageRules);

} // namespace zc

#endif // ZC_COMPILER_DRIVER_NOFLUSHOPTIONS_H
