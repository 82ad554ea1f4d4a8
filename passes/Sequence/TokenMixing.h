//===- TokenMixing.h - ops that mix tokens ----------------------*- C++ -*-===//
#ifndef ZC_PASSES_SEQUENCE_TOKENMIXING_H
#define ZC_PASSES_SEQUENCE_TOKENMIXING_H

#include "passes/Sequence/TokenDims.h"

namespace zc {

/// A node that mixes tokens in a way that ranks cannot divide, by an operand of
/// the first such op.
struct TokenMixing {
  mlir::OpOperand *use;
  bool oneByOne; // a recurrence or a running sum; else an op of images
};

/// All of a program's marked tokens, which `parts` ranks divide; each node
/// once, not its gradients too.
llvm::SmallVector<TokenMixing> findMixing(TokenDims &tokens, int64_t parts);

} // namespace zc

#endif // ZC_PASSES_SEQUENCE_TOKENMIXING_H
