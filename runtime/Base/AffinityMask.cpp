#include "runtime/Base/AffinityMask.h"

namespace zc {

std::vector<cpu_set_t> readAffinityMask() {
  // The kernel refuses a mask that is smaller than its own.
  constexpr size_t kMostSets = 1024; // of 1024 processors each
  for (size_t sets = 1; sets <= kMostSets; sets *= 2) {
    std::vector<cpu_set_t> mask(sets);
    if (::sched_getaffinity(0, sets * sizeof(cpu_set_t), mask.data()) == 0)
      return mask;
  }
  return {};
}

} // namespace zc
