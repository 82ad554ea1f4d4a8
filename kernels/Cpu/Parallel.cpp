#include "kernels/Cpu/Parallel.h"

#include <algorithm>

#ifdef _OPENMP
#include <omp.h>
#else
// Without OpenMP of our own, the library may still have brought a team.
extern "C" void omp_set_num_threads(int) __attribute__((weak));
#endif

namespace zc::kernels {

void setTeamSize(int threads) {
#ifdef _OPENMP
  omp_set_dynamic(0);
  omp_set_num_threads(std::max(1, threads));
#else
  (void)threads;
  if (omp_set_num_threads)
    omp_set_num_threads(1);
#endif
}

int teamSize() {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

void parallelFor(int64_t grid, int threads, RangeFunction function,
                 void *const *buffers) {
  if (grid <= 0)
    return;
#ifdef _OPENMP
  int64_t team = std::min<int64_t>(threads, grid);
  if (team > 1) {
#pragma omp parallel num_threads(static_cast <int>(team))
    {
      // The team may be smaller than asked for; cover the grid all the same.
      int64_t size = omp_get_num_threads(), rank = omp_get_thread_num();
      int64_t share = grid / size, rest = grid % size;
      int64_t begin = rank * share + std::min(rank, rest);
      int64_t end = begin + share + (rank < rest ? 1 : 0);
      if (begin < end)
        function(buffers, begin, end);
    }
    return;
  }
#endif
  function(buffers, 0, grid);
}

} // namespace zc::kernels
