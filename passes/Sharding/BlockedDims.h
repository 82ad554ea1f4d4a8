//===- BlockedDims.h - dims that are several dims in a row ------*- C++ -*-===//
//
// One matrix for q, k and v has three matrices' columns in a row. Cut in parts
// as they stand, a rank's part is no heads' q, k and v, and what the matrix
// makes would have to be gathered where it is cut in three. With each block
// divided by itself, and a rank's parts of all blocks one after another, it is
// not: the matrix is the first of a pair like any other.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_PASSES_SHARDING_BLOCKEDDIMS_H
#define ZC_PASSES_SHARDING_BLOCKEDDIMS_H

#include "dialects/Train/TrainDialect.h"
#include "passes/Sharding/DimClasses.h"

namespace zc {

/// Ops that cut a dim in blocks: a split, a reshape to [blocks, rest], or
/// slices, one for each block in order. While blocks are reordered these ops
/// are in no program.
struct BlockCut {
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::SmallVector<mlir::Operation *> instead; // in order
};

/// A dim of states, and of all that is computed from them with that dim, which
/// nobody reads in order but ops that cut it in `sizes`.
struct BlockedDim {
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<DimOf> states;                         // arguments
  llvm::SmallVector<std::pair<BlockCut, int64_t>, 0> cuts; // and the operand's
                                                           // dim
};

/// All of `program`, each with its like in every other program of the module
/// that reads one of the states; a dim that is not blocked alike in all of them
/// is left out. The first of a list is `program`'s own.
llvm::SmallVector<llvm::SmallVector<BlockedDim>>
findBlockedDims(mlir::func::FuncOp program);

/// Changes the order of the elements along a dim to one that `parts` ranks can
/// divide: of every block the first part, then of every block the second. Only
/// what cuts shows it: it begins with a reshape to [.., parts, size / parts,
/// ..]. Sizes must divide. One of the next two must follow.
void reorderBlocks(BlockedDim &dim, int64_t parts);

/// Makes that final, or takes it back.
void keepBlocks(BlockedDim &dim);
void restoreBlocks(BlockedDim &dim);

} // namespace zc

#endif // ZC_PASSES_SHARDING_BLOCKEDDIMS_H
