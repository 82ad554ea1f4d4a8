//===- EqualBlocks.h - layers of a program that are alike -------*- C++ -*-===//
#ifndef ZC_PASSES_PROOF_EQUALBLOCKS_H
#define ZC_PASSES_PROOF_EQUALBLOCKS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

#include <cstdint>
#include <string>

namespace zc {

/// Finds layers that are alike: blocks of the same ops one behind the other,
/// each of which computes of the one before it what that computes of its
/// predecessor, with states of its own that are alike. Leaves out all but
/// `keep` of them, with their states. A pass that divides programs does
/// with one layer what it does with an equal one.
///
/// `divisions`: texts by names of states; states of different texts are not
/// alike. Returns how many blocks it has left out.
int64_t dropEqualBlocks(mlir::func::FuncOp program, int64_t keep,
                        const llvm::StringMap<std::string> &divisions);

} // namespace zc

#endif // ZC_PASSES_PROOF_EQUALBLOCKS_H
