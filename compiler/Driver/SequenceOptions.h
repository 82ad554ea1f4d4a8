// Options of long sequences: tokens that the axis sp divides.
#ifndef ZC_COMPILER_DRIVER_SEQUENCEOPTIONS_H
#define ZC_COMPILER_DRIVER_SEQUENCEOPTIONS_H

#include "compiler/Driver/Options.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Contents/Contents.h"

#include <CLI/CLI.hpp>

namespace zc {

/// Adds --sequence-parallel, --sp-attention and --token-dim.
void addSequenceOptions(CLI::App &command, CompileOptions &options);

/// The error in options that do not go together; empty: none.
std::string checkSequenceTogether(const CompileOptions &options);

/// Whether ranks of tp are to divide tokens, and it is an error if they cannot.
bool asksForResiduals(const CompileOptions &options);

/// How many residuals have been divided in all roles; an error where there are
/// none and --sequence-parallel on asks for them.
llvm::FailureOr<int64_t> countResiduals(mlir::ModuleOp module,
                                        const CompileOptions &options);

/// How ranks of sp divide tokens; none where there is one.
std::optional<PassOptions::Tokens>
getTokenOptions(const CompileOptions &options);

} // namespace zc

#endif // ZC_COMPILER_DRIVER_SEQUENCEOPTIONS_H
