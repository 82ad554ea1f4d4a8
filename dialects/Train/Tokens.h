//===- Tokens.h - tokens that ranks divide ----------------------*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_TOKENS_H
#define ZC_DIALECTS_TRAIN_TOKENS_H

#include "llvm/ADT/StringRef.h"

namespace zc {

/// The axis of the mesh that divides tokens.
inline constexpr llvm::StringLiteral kTokenAxis = "sp";

/// On a program's argument, or on a tensor that a stage of a pipeline sends:
/// the dim that counts tokens.
inline constexpr llvm::StringLiteral kTokenDimAttr = "train.token_dim";

/// On a program's argument that the user wants whole on every rank.
inline constexpr llvm::StringLiteral kNoTokensAttr = "train.no_tokens";

/// On a module whose tokens ranks divide: among how many.
inline constexpr llvm::StringLiteral kTokenPartsAttr = "train.token_parts";

/// On a module whose residuals ranks of tp divide: how many there are.
inline constexpr llvm::StringLiteral kDividedResidualsAttr =
    "train.divided_residuals";

/// On a module whose tokens --zc-order-tokens has put in another order, and on
/// the results of its programs whose tokens stay in that order.
inline constexpr llvm::StringLiteral kTokenOrderAttr = "train.token_order";

/// The order in which rank r of p has chunks r and 2 p - 1 - r of 2 p.
inline constexpr llvm::StringLiteral kZigzag = "zigzag";

} // namespace zc

#endif // ZC_DIALECTS_TRAIN_TOKENS_H
