// Memory that is read soon is brought into a cache while something else is
// computed. For files that are compiled per instruction set: nothing here is
// inline in more than the file that includes it.
#ifndef ZC_KERNELS_CPU_SOONREAD_H
#define ZC_KERNELS_CPU_SOONREAD_H

#include <cstdint>

namespace zc::kernels {

/// Rows of bytes, what is left of them; none: nothing.
struct SoonRead {
  const char *row;
  int64_t rowStride, rowBytes, rows;
  int64_t at; // in the row
};

/// Cache lines of it.
static inline int64_t linesOf(const SoonRead &soon) {
  return soon.rows * ((soon.rowBytes + 63) / 64);
}

/// Asks for the next line, into the second-level cache.
static inline void bringLine(SoonRead &soon) {
  if (soon.rows <= 0)
    return;
  __builtin_prefetch(soon.row + soon.at, 0, 2);
  soon.at += 64;
  if (soon.at < soon.rowBytes)
    return;
  soon.at = 0;
  soon.row += soon.rowStride;
  --soon.rows;
}

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_SOONREAD_H
