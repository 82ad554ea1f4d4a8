// Text that a user asked for with --emit: to a file, atomically, or to stdout.
#ifndef ZC_COMPILER_DRIVER_TEXTOUTPUT_H
#define ZC_COMPILER_DRIVER_TEXTOUTPUT_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace zc {

std::string printModule(mlir::ModuleOp module);

/// Writes to `path`, or to stdout when it is empty; returns the exit code.
int emitText(const std::string &path, const std::string &text);

} // namespace zc

#endif
