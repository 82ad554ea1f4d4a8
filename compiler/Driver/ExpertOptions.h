// The options for experts: their room, and over which tokens it counts.
#ifndef ZC_COMPILER_DRIVER_EXPERTOPTIONS_H
#define ZC_COMPILER_DRIVER_EXPERTOPTIONS_H

#include "compiler/Driver/Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "passes/Experts/Passes.h"
#include <CLI/CLI.hpp>

namespace zc {

void addExpertOptions(CLI::App &command, CompileOptions &options);

/// How experts get rooms of a fixed size: where ranks have some of them each or
/// the user asks for it, else (`ownRooms`) where the model's file has them.
DispatchExpertsPassOptions getExpertOptions(const CompileOptions &options);

/// Whether a layer's rooms are those of the model's file.
bool hasOwnRooms(mlir::ModuleOp module);

} // namespace zc

#endif
