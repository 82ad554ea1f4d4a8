//===- TokenInputs.h - inputs that may count tokens -------------*- C++ -*-===//
#ifndef ZC_PASSES_SEQUENCE_TOKENINPUTS_H
#define ZC_PASSES_SEQUENCE_TOKENINPUTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace zc {

/// The ranks of an axis, among which tokens are divided.
struct TokenRanks {
  llvm::StringRef axis;
  int64_t count;
};

/// By the inputs' names which dim of each counts tokens, as --token-dim says
/// it, "INPUT=K" or "INPUT=none"; -1: none does.
llvm::StringMap<int64_t> readTokenDims(llvm::ArrayRef<std::string> texts);

/// Calls `body` for each input of a program by its name, up to one that fails;
/// weights of samples have no tokens.
llvm::LogicalResult
forEachTokenInput(mlir::func::FuncOp program,
                  llvm::function_ref<llvm::LogicalResult(mlir::BlockArgument,
                                                         llvm::StringRef)>
                      body);

/// Says that dim `dim` of an input counts tokens; an error where it cannot, or
/// they do not divide. `mayBeWhole`: other tokens are left to divide without.
llvm::LogicalResult setTokenDim(mlir::BlockArgument input, int64_t dim,
                                const TokenRanks &ranks,
                                bool mayBeWhole = false);

/// "the next sizes that do are 6 and 9" for a size that does not divide among
/// so many ranks.
std::string nextSizes(int64_t size, int64_t ranks);

} // namespace zc

#endif // ZC_PASSES_SEQUENCE_TOKENINPUTS_H
