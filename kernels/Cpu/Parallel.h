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

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_PARALLEL_H
