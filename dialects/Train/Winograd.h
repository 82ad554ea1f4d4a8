//===- Winograd.h - a convolution that may round otherwise ------*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_WINOGRAD_H
#define ZC_DIALECTS_TRAIN_WINOGRAD_H

#include "mlir/IR/Operation.h"

namespace zc::train {

/// Whether `op` is a convolution, or a gradient of one, that a library may
/// compute by Winograd's way (its property `winograd`).
bool mayUseWinograd(mlir::Operation *op);

/// Says so of `op`, which is one of them.
void setWinograd(mlir::Operation *op, bool allowed);

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_WINOGRAD_H
