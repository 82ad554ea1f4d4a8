// Arithmetic for the bounds of scratch memory that rooms give, pure functions
// of specs: the compiler plans a workspace of as many bytes. On CPUs, preparing
// a kernel fails over to a leaner implementation, or ends with a message, when
// the library on the running machine asks for more; on GPUs libraries choose
// among the algorithms that need no more.
//
// The bounds for CPUs are those of what oneDNN 2.6 asked for in scans of some
// 40,000 random shapes, 1 to 64 threads, with AVX-512 and with AVX2;
// test/unit/kernels keeps a table of the telling ones. The rare shapes above a
// bound (the library then wants a private copy of a whole operand per thread)
// are left out on purpose: planning for them would cost every program what only
// they need.
#ifndef ZC_KERNELS_CALLS_SCRATCH_H
#define ZC_KERNELS_CALLS_SCRATCH_H

#include "kernels/Spec.h"

#include <cstdint>

namespace zc::kernels {

inline uint64_t roundUpBytes(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

inline uint64_t saturatingProduct(uint64_t a, uint64_t b) {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX / 8 : product;
}

/// NVIDIA recommends so much for cuBLAS on Hopper.
constexpr uint64_t kCudaScratch = 32u << 20;

/// GPUs' libraries take a workspace from a multiple of 256 bytes on; buffers
/// may begin between two such.
inline uint64_t alignedForCuda(uint64_t bytes) {
  constexpr uint64_t kAlignment = 256;
  return roundUpBytes(bytes, kAlignment) + kAlignment;
}

inline uint64_t countElements(const StridedTensor &tensor) {
  uint64_t count = 1;
  for (int64_t dim : tensor.dims)
    count *= static_cast<uint64_t>(dim);
  return count;
}

} // namespace zc::kernels

#endif // ZC_KERNELS_CALLS_SCRATCH_H
