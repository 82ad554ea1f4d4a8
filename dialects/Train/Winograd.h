//===- Winograd.h - a convolution that may round otherwise ------*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_WINOGRAD_H
#define ZC_DIALECTS_TRAIN_WINOGRAD_H

#include "mlir/IR/Operation.h"

namespace zc::train {

/// On a convolution or a gradient of one that a library computes, a unit: it
/// may be computed by Winograd's way, and scratch memory is planned for that.
/// Discardable, because only the choice of libraries, which comes behind all
/// that rewrites convolutions, and the budget behind that set and clear it.
inline constexpr llvm::StringLiteral kWinogradAttr = "train.winograd";

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_WINOGRAD_H
