// Memory that is read soon is brought into a cache while something else is
// computed. For files that are compiled per instruction set: all functions here
// are static, so that each file has those of its own set.
#ifndef ZC_KERNELS_CPU_SOONREAD_H
#define ZC_KERNELS_CPU_SOONREAD_H

#include <cstdint>

namespace zc::kernels {

/// Rows of bytes that have not been asked for yet; rows = 0: nothing is read.
struct SoonRead {
  const char *row;
  int64_t rowStride, rowBytes, rows;
  int64_t at; // of the next line, in bytes from the row's beginning
};

/// How far behind the beginning of a cache line an address lies.
static inline int64_t bytesIntoLine(const char *address) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(address) % 64);
}

/// Cache lines of it, at most: a row that begins within a line may end in one
/// more.
static inline int64_t linesOf(const SoonRead &soon) {
  bool aligned = bytesIntoLine(soon.row) == 0 && soon.rowStride % 64 == 0;
  return soon.rows * ((soon.rowBytes + (aligned ? 63 : 126)) / 64);
}

/// Asks for the next line, into the second-level cache.
static inline void bringLine(SoonRead &soon) {
  if (soon.rows <= 0)
    return;
  __builtin_prefetch(soon.row + soon.at, 0, 2);
  soon.at += 64;
  if (soon.at < soon.rowBytes + bytesIntoLine(soon.row))
    return;
  soon.at = 0;
  soon.row += soon.rowStride;
  --soon.rows;
}

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_SOONREAD_H
