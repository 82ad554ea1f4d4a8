// The options for experts: their room, and over which tokens it counts.
#ifndef ZC_COMPILER_DRIVER_EXPERTOPTIONS_H
#define ZC_COMPILER_DRIVER_EXPERTOPTIONS_H

#include "compiler/Driver/Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include <CLI/CLI.hpp>

namespace zc {

void addExpertOptions(CLI::App &command, CompileOptions &options);

/// Puts experts in rooms of a fixed size, where ranks have some of them each,
/// the user asks for it, or the model's file has such rooms.
void dispatchExperts(mlir::OpPassManager &manager, mlir::ModuleOp module,
                     const CompileOptions &options);

} // namespace zc

#endif
