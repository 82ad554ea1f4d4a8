//===- SeparateBlocks.h - blocks computed by themselves ---------*- C++ -*-===//
//
// One matrix for q, k and v makes all three, and somebody cuts them apart. If
// there are fewer heads of k and v than ranks, the matrix cannot be divided
// block by block (BlockedDims.h); but each block can be computed by itself,
// from its part of the parameters.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_PASSES_SHARDING_SEPARATEBLOCKS_H
#define ZC_PASSES_SHARDING_SEPARATEBLOCKS_H

#include "dialects/Train/TrainDialect.h"
#include "passes/Sharding/DimClasses.h"

namespace zc {

/// Blocks as they were cut, which have no readers while those that are computed
/// by themselves have them.
using SeparateBlocks =
    llvm::SmallVector<std::pair<mlir::Value, mlir::Value>, 0>;

/// Whether an op cuts `block` along its dim out of a value, and all who read
/// that value cut it so.
bool isCutBlock(DimOf block);

/// Computes by itself each block of the value that `block` is cut out of. The
/// ops that computed them together stay, for restoreBlocks(); after that
/// eraseDeadOps is to follow.
SeparateBlocks separateBlocks(DimOf block);

/// Takes it back.
void restoreBlocks(const SeparateBlocks &blocks);

} // namespace zc

#endif // ZC_PASSES_SHARDING_SEPARATEBLOCKS_H
