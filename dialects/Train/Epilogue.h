//===- Epilogue.h - what a library computes behind a product ----*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_EPILOGUE_H
#define ZC_DIALECTS_TRAIN_EPILOGUE_H

#include "llvm/ADT/StringRef.h"

namespace zc::train {

/// In a train.fused's `joined`: its body is a product of two matrices and what
/// follows it, c = activation(lhs rhs + addend + bias). `activation` is "relu",
/// "gelu" (its tanh form), "relu_grad" or "gelu_grad"; the units `addend`,
/// `bias` and `auxiliary` say which operands there are behind the two matrices,
/// in this order; of "relu" and "gelu", the auxiliary tensor is a result
/// instead. It is what GELU is of, or a bit for each of ReLU's results, eight
/// to a byte: set where gradients pass, which is from 0 on, in an order that is
/// the library's own. `sums` is "columns" (of c), "lhs" (of its rows) or "rhs"
/// (of its columns). Results are c, the auxiliary tensor, the sums.
inline constexpr llvm::StringLiteral kEpilogueKey = "epilogue";
inline constexpr llvm::StringLiteral kActivationKey = "activation";
inline constexpr llvm::StringLiteral kAddendKey = "addend";
inline constexpr llvm::StringLiteral kBiasKey = "bias";
inline constexpr llvm::StringLiteral kAuxiliaryKey = "auxiliary";
inline constexpr llvm::StringLiteral kSumsKey = "sums";

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_EPILOGUE_H
