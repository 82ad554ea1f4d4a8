// The options for a pipeline: where the model is cut, and in what order the
// roles work.
#ifndef ZC_COMPILER_DRIVER_PIPELINEOPTIONS_H
#define ZC_COMPILER_DRIVER_PIPELINEOPTIONS_H

#include "compiler/Driver/Options.h"
#include "runtime/Base/Status.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <CLI/CLI.hpp>

namespace zc {

void addPipelineOptions(CLI::App &command, CompileOptions &options);

/// Fills in what follows from --mesh: micro-batches, the schedule's own name.
void completePipelineOptions(const CLI::App &command, CompileOptions &options);

/// The error in options that do not go together; empty: none.
std::string checkPipelineTogether(const CompileOptions &options);

/// About what a rank keeps from step to step for each element that is trained:
/// itself, its gradient, the optimizer's moments. In bytes; for a partition by
/// memory, which the final plan is checked after.
double estimateBytesPerParameter(const CompileOptions &options);

/// The rules of a stage file's text, "NODE|PATTERN: stage" a line, as
/// --zc-assign-stages takes them: "PATTERN stage".
llvm::Expected<std::string> parseStageFile(llvm::StringRef text,
                                           llvm::StringRef path);

/// Writes the stages that ops have as a stage file, of a module in front of
/// --zc-split-stages.
Status writeStageFile(mlir::ModuleOp module, const std::string &path);

} // namespace zc

#endif
