#include "kernels/Cpu/Parallel.h"

#include <gtest/gtest.h>
#include <vector>

namespace zc::kernels {
namespace {

void addOne(void *const *buffers, int64_t begin, int64_t end) {
  int *counts = static_cast<int *>(buffers[0]);
  for (int64_t i = begin; i < end; ++i)
    ++counts[i];
}

TEST(Parallel, DoesEveryItemOnce) {
  for (int threads : {1, 2, 3, 7})
    for (int64_t grid : {0, 1, 2, 5, 1000}) {
      std::vector<int> counts(grid + 1, 0);
      void *buffers[] = {counts.data()};
      parallelFor(grid, threads, addOne, buffers);
      for (int64_t i = 0; i < grid; ++i)
        EXPECT_EQ(counts[i], 1) << threads << " threads, item " << i;
      EXPECT_EQ(counts[grid], 0);
    }
}

} // namespace
} // namespace zc::kernels
