// Options of long sequences: tokens that the axis sp divides.
#ifndef ZC_COMPILER_DRIVER_SEQUENCEOPTIONS_H
#define ZC_COMPILER_DRIVER_SEQUENCEOPTIONS_H

#include "compiler/Driver/Options.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Collectives/Passes.h"

#include <CLI/CLI.hpp>

namespace zc {

/// Adds --sequence-parallel, --sp-attention and --token-dim.
void addSequenceOptions(CLI::App &command, CompileOptions &options);

/// The error in options that do not go together; empty: none.
std::string checkSequenceTogether(const CompileOptions &options);

/// Says to the passes for ranks how tokens are divided; inside tp as
/// `sequenceParallel` says, which is "on", "on=kept" or "off".
void setSequence(const CompileOptions &options,
                 const std::string &sequenceParallel, RanksOptions &ranks);

/// How many residuals have been divided in all roles; an error where there are
/// none and --sequence-parallel on asks for them.
llvm::FailureOr<int64_t> countResiduals(mlir::ModuleOp module,
                                        const CompileOptions &options);

/// Lets early and late tokens change places, before gradients are built, where
/// ranks have equally much to do then.
void addTokenOrder(mlir::OpPassManager &manager, const CompileOptions &options);

} // namespace zc

#endif // ZC_COMPILER_DRIVER_SEQUENCEOPTIONS_H
