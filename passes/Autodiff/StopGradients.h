//===- StopGradients.h - values that are constants to gradients -*- C++ -*-===//
#ifndef ZC_PASSES_AUTODIFF_STOPGRADIENTS_H
#define ZC_PASSES_AUTODIFF_STOPGRADIENTS_H

#include "mlir/IR/BuiltinOps.h"

namespace zc {

bool stopsGradient(mlir::Operation &op);

/// Forgets where gradients stop, in all programs: they are built, or not
/// wanted.
void dropStopGradients(mlir::ModuleOp module);

} // namespace zc

#endif // ZC_PASSES_AUTODIFF_STOPGRADIENTS_H
