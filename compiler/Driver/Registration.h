//===- Registration.h - all dialects and passes of zc -----------*- C++ -*-===//
#ifndef ZC_COMPILER_DRIVER_REGISTRATION_H
#define ZC_COMPILER_DRIVER_REGISTRATION_H

#include "mlir/IR/DialectRegistry.h"

namespace zc {

/// zc's own dialects and those it lowers to.
void registerDialects(mlir::DialectRegistry &registry);

/// Every pass under its `--zc-` flag, and canonicalize, cse, symbol-dce,
/// inline.
void registerPasses();

} // namespace zc

#endif // ZC_COMPILER_DRIVER_REGISTRATION_H
