//===- TokenMixing.h - ops that mix tokens ----------------------*- C++ -*-===//
#ifndef ZC_PASSES_SEQUENCE_TOKENMIXING_H
#define ZC_PASSES_SEQUENCE_TOKENMIXING_H

#include "passes/Sequence/TokenDims.h"
#include "passes/Sequence/TokenInputs.h"

namespace zc {

/// A node that mixes tokens in a way that ranks cannot divide, by an operand of
/// the first such op.
struct TokenMixing {
  mlir::OpOperand *use;
  bool oneByOne; // a recurrence or a running sum; else an op of images
};

/// All of a program's marked tokens, which `parts` ranks divide; each node
/// once, not its gradients too, nor those that findHiddenMixing finds.
llvm::SmallVector<TokenMixing> findMixing(mlir::func::FuncOp program,
                                          TokenDims &tokens, int64_t parts);

/// Nodes that make marked tokens by mixing what is not marked: nothing tells
/// that this has tokens, too, and every rank would compute them all. Each node
/// once.
llvm::SmallVector<TokenMixing> findHiddenMixing(mlir::func::FuncOp program,
                                                TokenDims &tokens);

/// The error for such a node. `whole`: what the user can say so that ranks keep
/// whole what it reads, or nothing.
void refuseMixing(const TokenMixing &mixing, TokenDims &tokens,
                  const TokenRanks &ranks, llvm::StringRef whole);

} // namespace zc

#endif // ZC_PASSES_SEQUENCE_TOKENMIXING_H
