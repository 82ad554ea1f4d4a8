#include "kernels/Cpu/Parallel.h"
#include "kernels/Cpu/Underflow.h"
#include "kernels/Cpu/WorkHint.h"

#include <gtest/gtest.h>
#include <set>
#include <thread>
#include <vector>

namespace zc::kernels {
namespace {

void addOne(void *const *buffers, int64_t begin, int64_t end) {
  int *counts = static_cast<int *>(buffers[0]);
  for (int64_t i = begin; i < end; ++i)
    ++counts[i];
}

TEST(Parallel, DoesEveryItemOnce) {
  for (int threads : {1, 2, 3, 7}) {
    setTeamSize(threads);
    for (double seconds : {1e-9, 1e-5, 1.0})
      for (int64_t grid : {0, 1, 2, 5, 1000}) {
        HintedWork hinted({seconds, false, false});
        std::vector<int> counts(grid + 1, 0);
        void *buffers[] = {counts.data()};
        parallelFor(grid, threads, addOne, buffers);
        for (int64_t i = 0; i < grid; ++i)
          EXPECT_EQ(counts[i], 1) << threads << " threads, item " << i;
        EXPECT_EQ(counts[grid], 0);
      }
  }
}

/// Each item notes the thread that did it.
void noteThread(void *const *buffers, int64_t begin, int64_t end) {
  auto *threads = static_cast<std::thread::id *>(buffers[0]);
  for (int64_t i = begin; i < end; ++i)
    threads[i] = std::this_thread::get_id();
}

size_t threadsOf(double seconds) {
  std::vector<std::thread::id> threads(64);
  void *buffers[] = {threads.data()};
  HintedWork hinted({seconds, false, false});
  parallelFor(64, 4, noteThread, buffers);
  return std::set<std::thread::id>(threads.begin(), threads.end()).size();
}

TEST(Parallel, LittleWorkStaysOnOneThread) {
  setTeamSize(4);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(threadsOf(2e-6), 1u);
}

void multiplyTiny(void *const *buffers, int64_t begin, int64_t end) {
  auto *numbers = static_cast<volatile float *>(buffers[0]);
  for (int64_t i = begin; i < end; ++i)
    numbers[i] = numbers[i] * 1e-20f;
}

TEST(Parallel, TinyProductsAreZerosOnEveryThread) {
  setTeamSize(3);
  HintedWork hinted({1.0, false, false});
  for (int run = 0; run < 20; ++run) {
    std::vector<float> numbers(300, 1e-20f);
    void *buffers[] = {numbers.data()};
    {
      FlushedUnderflow flushed;
      parallelFor(300, 3, multiplyTiny, buffers);
    }
    for (float number : numbers)
      ASSERT_EQ(number, 0);
  }
  volatile float one = 1e-20f;
  EXPECT_GT(one * 1e-20f, 0) << "outside of the scope";
}

TEST(Parallel, AloneIsOneThread) {
  setTeamSize(4);
  HintedWork hinted({1, true, true});
  EXPECT_EQ(teamSize(), 1);
}

TEST(Parallel, SmallKernelsThatMeetAreMadeForOneThread) {
  EXPECT_TRUE(isBetterAlone({20e-6, true, false}));
  EXPECT_FALSE(isBetterAlone({20e-6, false, false})); // others may come or not
  EXPECT_FALSE(isBetterAlone({2e-3, true, false}));
}

TEST(Parallel, HintsEndWithTheirScope) {
  double before = workHint().seconds;
  {
    HintedWork outer({0.5, false, false});
    {
      HintedWork inner({0.25, true, false});
      EXPECT_EQ(workHint().seconds, 0.25);
      EXPECT_TRUE(workHint().mayMeet);
    }
    EXPECT_EQ(workHint().seconds, 0.5);
    EXPECT_FALSE(workHint().mayMeet);
  }
  EXPECT_EQ(workHint().seconds, before);
}

} // namespace
} // namespace zc::kernels
