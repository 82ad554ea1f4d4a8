// Quotients of positive integers, rounded up. Not for files that are compiled
// per instruction set: their copies would be of that set.
#ifndef ZC_KERNELS_ROUNDING_H
#define ZC_KERNELS_ROUNDING_H

#include <cstdint>

namespace zc::kernels {

inline int64_t ceilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

inline int64_t roundUp(int64_t value, int64_t multiple) {
  return ceilDivide(value, multiple) * multiple;
}

} // namespace zc::kernels

#endif // ZC_KERNELS_ROUNDING_H
