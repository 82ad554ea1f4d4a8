// One team of threads serves generated kernels and the library alike: a second
// pool would make both wait (measured: 7-64% on small operators).
#ifndef ZC_KERNELS_CPU_PARALLEL_H
#define ZC_KERNELS_CPU_PARALLEL_H

#include <cstdint>
#include <vector>

namespace zc::kernels {

/// A generated kernel: does the work items [begin, end) of its grid.
using RangeFunction = void (*)(void *const *buffers, int64_t begin,
                               int64_t end);

/// Sets how many threads the calling thread's kernels use from now on, and on
/// which processors they stay, the calling thread's first; empty: on any.
void setTeamSize(int threads, const std::vector<int> &processors = {});
/// How many that is.
int teamSize();

/// Starts the threads now rather than with the first kernel. False: the system
/// gives no more.
bool startTeam();

/// Runs `function` over [0, grid), as many items as there are threads at once.
/// Which thread does an item is open; an item's result must not depend on it.
void parallelFor(int64_t grid, int threads, RangeFunction function,
                 void *const *buffers);

/// Lets each thread touch the pages of its part of some memory, so that the
/// system puts them near the thread that will compute with them; what they hold
/// stays. Nobody else uses them meanwhile. Little memory is left as it is.
void touchPages(void *data, uint64_t bytes, int threads);

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
