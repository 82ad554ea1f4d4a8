//===- RowParts.h - the ops of a region, some rows at a time ----*- C++ -*-===//
#ifndef ZC_PASSES_FUSION_ROWPARTS_H
#define ZC_PASSES_FUSION_ROWPARTS_H

#include "passes/Fusion/RowRegion.h"

namespace zc {

/// How a region's rows are divided along time.
struct RowParts {
  int64_t count = 1;
  /// The rows are so many equal blocks, one a rank, and a part has as many rows
  /// of each.
  int64_t blocks = 1;
  /// Ranks divide the ops from here on: a product and what adds its result to a
  /// sum stay two ops, with a mark (see --zc-accumulate-in-place).
  bool isDivided = false;
};

/// Puts `parts.count` copies of the region's ops in their place, each for a
/// part of the rows. Rows are joined, sums of 16-bit products are added up in
/// float32. The block is to be sorted, and dead ops are to be erased.
void computeInParts(const RowRegion &region, const RowParts &parts);

} // namespace zc

#endif // ZC_PASSES_FUSION_ROWPARTS_H
