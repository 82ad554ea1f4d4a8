//===- Packing.h - intervals into as few bytes as possible ------*- C++ -*-===//
#ifndef ZC_PASSES_ALLOCATION_PACKING_H
#define ZC_PASSES_ALLOCATION_PACKING_H

#include <cstdint>
#include <vector>

namespace zc {

/// A block of memory that is taken at the times first to last, both included.
struct PackingItem {
  int64_t bytes;
  unsigned first;
  unsigned last;
};

struct Packing {
  std::vector<int64_t> offsets; // one per item, multiples of `alignment`
  int64_t bytes = 0;            // the end of the highest item, aligned
  int64_t lowerBound = 0;       // the most bytes taken at any time, aligned
};

/// Places items so that no two overlap in time and bytes; deterministic.
Packing packItems(const std::vector<PackingItem> &items, int64_t alignment);

} // namespace zc

#endif // ZC_PASSES_ALLOCATION_PACKING_H
