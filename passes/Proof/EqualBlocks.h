//===- EqualBlocks.h - layers of a program that are alike -------*- C++ -*-===//
#ifndef ZC_PASSES_PROOF_EQUALBLOCKS_H
#define ZC_PASSES_PROOF_EQUALBLOCKS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cstdint>
#include <string>

namespace zc {

/// How much was left out.
struct EqualBlockCount {
  int64_t blocks = 0;
  int64_t parameters = 0; // tensors
};

/// Finds layers that are alike: blocks of the same ops one behind the other,
/// each of which computes of the one before it what that computes of its
/// predecessor, with states of its own that are alike. Leaves out all but
/// `keep` of them, with their states. A pass that divides programs does
/// with one layer what it does with an equal one.
///
/// `divisions`: `STATE=TEXT` each; states of different texts are not alike. A
/// block may be several layers, where every other one is divided otherwise.
EqualBlockCount dropEqualBlocks(mlir::func::FuncOp program, int64_t keep,
                                llvm::ArrayRef<std::string> divisions);

} // namespace zc

#endif // ZC_PASSES_PROOF_EQUALBLOCKS_H
