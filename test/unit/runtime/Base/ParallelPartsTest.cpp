#include "runtime/Base/ParallelParts.h"
#include "runtime/Base/Cores.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <mutex>
#include <new>
#include <vector>

using namespace zc;

namespace {

/// The parts of 0 to `count`, in order.
std::vector<std::pair<int64_t, int64_t>> partsOf(int64_t count, int64_t bytes) {
  std::mutex mutex;
  std::vector<std::pair<int64_t, int64_t>> parts;
  inParallelParts(count, bytes, [&](int64_t begin, int64_t end) {
    std::lock_guard<std::mutex> lock(mutex);
    parts.emplace_back(begin, end);
  });
  std::sort(parts.begin(), parts.end());
  return parts;
}

TEST(ParallelParts, FewBytesAreOnePart) {
  EXPECT_EQ(partsOf(100, 1000),
            (std::vector<std::pair<int64_t, int64_t>>{{0, 100}}));
  EXPECT_EQ(partsOf(0, 0), (std::vector<std::pair<int64_t, int64_t>>{{0, 0}}));
}

TEST(ParallelParts, PartsCoverAllOnce) {
  auto parts = partsOf(1001, int64_t(1) << 30);
  EXPECT_EQ(int(parts.size()), std::min(usableCores(), kMostThreads));
  int64_t next = 0;
  for (auto [begin, end] : parts) {
    EXPECT_EQ(begin, next);
    EXPECT_LT(begin, end);
    next = end;
  }
  EXPECT_EQ(next, 1001);
}

TEST(ParallelParts, NoPartIsEmpty) {
  EXPECT_EQ(partsOf(1, int64_t(1) << 30).size(), 1u);
}

TEST(ParallelParts, ThrowsWhatAPartThrows) {
  auto fail = [](int64_t, int64_t) { throw std::bad_alloc(); };
  EXPECT_THROW(inParallelParts(1000, int64_t(1) << 30, fail), std::bad_alloc);
  EXPECT_THROW(inParallelParts(1, 1, fail), std::bad_alloc);
}

} // namespace
