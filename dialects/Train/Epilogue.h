//===- Epilogue.h - what a library computes behind a product ----*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_EPILOGUE_H
#define ZC_DIALECTS_TRAIN_EPILOGUE_H

#include "mlir/IR/Operation.h"

namespace zc::train {

/// On a train.fused that a library computes, a dictionary: its body is a
/// product of two matrices and what follows it, c = activation(lhs rhs + addend
/// + bias). `activation` is "relu", "gelu" (its tanh form), "relu_grad" or
/// "gelu_grad"; the units `addend`, `bias` and `auxiliary` say which operands
/// there are behind the two matrices, in this order; of "relu" and "gelu", the
/// auxiliary tensor is a result instead. It is what GELU is of, or a bit for
/// each of ReLU's results, eight to a byte: set where gradients pass, which is
/// from 0 on, in an order that is the library's own. `sums` is "columns" (of
/// c), "lhs" (of its rows) or "rhs" (of its columns). Results are c, the
/// auxiliary tensor, the sums.
inline constexpr llvm::StringLiteral kEpilogueAttr = "train.epilogue";
inline constexpr llvm::StringLiteral kActivationKey = "activation";
inline constexpr llvm::StringLiteral kAddendKey = "addend";
inline constexpr llvm::StringLiteral kBiasKey = "bias";
inline constexpr llvm::StringLiteral kAuxiliaryKey = "auxiliary";
inline constexpr llvm::StringLiteral kSumsKey = "sums";

/// The marks of a region of several ops that a library computes as one call:
/// dictionaries, kEpilogueAttr or that of another kind (passes/Fusion/Joined).
inline auto getJoinedMarks(mlir::Operation *region) {
  return llvm::make_filter_range(
      region->getDiscardableAttrs(), [](mlir::NamedAttribute mark) {
        return llvm::isa<mlir::DictionaryAttr>(mark.getValue());
      });
}

/// Whether a library computes a region of several ops.
inline bool isJoined(mlir::Operation *region) {
  return !getJoinedMarks(region).empty();
}

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_EPILOGUE_H
