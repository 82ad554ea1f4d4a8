// How threads wait: awake where that keeps nobody from running, then asleep.
#include "kernels/Cpu/SleepWord.h"

#include <chrono>
#include <ctime>
#include <gtest/gtest.h>
#include <thread>

namespace zc::kernels::test {
namespace {

using namespace std::chrono_literals;

std::chrono::nanoseconds ownTime() {
  timespec time;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) +
         std::chrono::nanoseconds(time.tv_nsec);
}

/// Whoever waits for long takes no processor meanwhile, on a busy machine and
/// on an idle one: 20 ms where OMP_WAIT_POLICY says active.
TEST(SleepWord, SleepsWhereNothingComes) {
  SleepWord word(0);
  std::chrono::nanoseconds used{};
  std::thread waiting([&] {
    const auto before = ownTime();
    while (word.load() == 0)
      word.waitWhile(0);
    used = ownTime() - before;
  });
  while (!word.hasSleepers())
    std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(300ms);
  word.store(1);
  word.wake();
  waiting.join();
  EXPECT_LT(used, 100ms);
  EXPECT_FALSE(word.hasSleepers());
}

/// A group that is not called sleeps on.
TEST(SleepWord, WakesWhoIsCalled) {
  SleepWord word(0);
  std::atomic<int> awake{0};
  auto wait = [&](uint32_t group) {
    word.waitWhile(0, group);
    awake += int(group);
  };
  std::thread first(wait, 1u), second(wait, 2u);
  while (awake == 0) { // until it sleeps, too
    word.wake(2);
    std::this_thread::sleep_for(1ms);
  }
  second.join();
  EXPECT_EQ(awake, 2);
  word.store(1);
  word.wake(1);
  first.join();
  EXPECT_EQ(awake, 3);
}

} // namespace
} // namespace zc::kernels::test
