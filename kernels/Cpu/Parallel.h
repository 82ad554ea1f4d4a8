// One team of threads serves generated kernels and the library alike: a second
// pool would make both wait (measured: 7-64% on small operators).
#ifndef ZC_KERNELS_CPU_PARALLEL_H
#define ZC_KERNELS_CPU_PARALLEL_H

#include <cstdint>

namespace zc::kernels {

/// A generated kernel: does the work items [begin, end) of its grid.
using RangeFunction = void (*)(void *const *buffers, int64_t begin,
                               int64_t end);

/// Sets how many threads the calling thread's kernels use from now on.
void setTeamSize(int threads);
/// How many that is.
int teamSize();

/// Starts the threads now rather than with the first kernel. False: the system
/// gives no more.
bool startTeam();

/// Runs `function` over [0, grid), as many items as there are threads at once.
/// Which thread does an item is open; an item's result must not depend on it.
void parallelFor(int64_t grid, int threads, RangeFunction function,
                 void *const *buffers);

/// Calls `work` with every number below `count`, as parallelFor() does.
template <typename Work>
void parallelForEach(int64_t count, int threads, const Work &work) {
  const void *argument = &work;
  parallelFor(
      count, threads,
      [](void *const *arguments, int64_t begin, int64_t end) {
        const Work &work = *static_cast<const Work *>(arguments[0]);
        for (int64_t item = begin; item < end; ++item)
          work(item);
      },
      const_cast<void *const *>(&argument));
}

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_PARALLEL_H
