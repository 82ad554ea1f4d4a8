//===- Winograd.h - a convolution that may round otherwise ------*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_WINOGRAD_H
#define ZC_DIALECTS_TRAIN_WINOGRAD_H

#include "mlir/IR/Operation.h"

namespace zc::train {

/// On a convolution or a gradient of one that a library computes, a unit: it
/// may be computed by Winograd's way, and scratch memory is planned for that.
inline constexpr llvm::StringLiteral kWinogradAttr = "train.winograd";

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_WINOGRAD_H
