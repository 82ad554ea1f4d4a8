// The streams of a program: instructions of one run one after another, in the
// program's order. Their numbers are what a manifest says.
#ifndef ZC_RUNTIME_PLAN_STREAMNUMBERS_H
#define ZC_RUNTIME_PLAN_STREAMNUMBERS_H

#include <cstdint>

namespace zc::streams {

/// Kernels and library calls; collectives beside them; copies from the second
/// memory; kernels of a device's host; copies to the second memory. A link
/// carries bytes both ways at once, so that each way has a stream of its own.
/// Artifacts of earlier compilers have all copies on kFetches.
constexpr uint32_t kMain = 0, kCollectives = 1, kFetches = 2, kHost = 3,
                   kStores = 4;
constexpr uint32_t kCount = 5;

/// Whether copies between the two memories run on it.
inline bool isOfCopies(uint32_t stream) {
  return stream == kFetches || stream == kStores;
}

/// Names the work of a stream, for people.
inline const char *nameOf(uint32_t stream) {
  const char *const names[kCount] = {"compute", "collectives", "fetches",
                                     "host", "stores"};
  return stream < kCount ? names[stream] : "unknown";
}

} // namespace zc::streams

#endif // ZC_RUNTIME_PLAN_STREAMNUMBERS_H
