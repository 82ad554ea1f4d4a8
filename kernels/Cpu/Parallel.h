// One team of threads serves generated kernels and the library alike: a second
// pool would make both wait (measured: 7-64% on small operators).
#ifndef ZC_KERNELS_CPU_PARALLEL_H
#define ZC_KERNELS_CPU_PARALLEL_H

#include <cstdint>

namespace zc::kernels {

/// A generated kernel: does the work items [begin, end) of its grid.
using RangeFunction = void (*)(void *const *buffers, int64_t begin,
                               int64_t end);

/// Sets how many threads library kernels created from now on use.
void setTeamSize(int threads);
/// How many that is.
int teamSize();

/// Runs `function` over [0, grid), split evenly and statically, so that the
/// same thread count gives the same split, and the same bits, every time.
void parallelFor(int64_t grid, int threads, RangeFunction function,
                 void *const *buffers);

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_PARALLEL_H
