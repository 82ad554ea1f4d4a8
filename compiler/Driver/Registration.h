//===- Registration.h - all dialects of zc ----------------------*- C++ -*-===//
#ifndef ZC_COMPILER_DRIVER_REGISTRATION_H
#define ZC_COMPILER_DRIVER_REGISTRATION_H

#include "mlir/IR/DialectRegistry.h"

namespace zc {

/// zc's own dialects and those it lowers to: all that reading IR takes.
void insertDialects(mlir::DialectRegistry &registry);

/// The same with what passes ask of them: targets, conversions.
void registerDialects(mlir::DialectRegistry &registry);

} // namespace zc

#endif // ZC_COMPILER_DRIVER_REGISTRATION_H
