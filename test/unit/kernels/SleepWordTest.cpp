// How threads wait: awake where that keeps nobody from running, then asleep.
#include "kernels/Cpu/SleepWord.h"
#include "kernels/Cpu/Company.h"

#include <ctime>
#include <gtest/gtest.h>
#include <thread>

namespace zc::kernels::test {
namespace {

using namespace std::chrono_literals;
using Clock = Company::Clock;

// A system that says what the test wants.
long preemptions, looks;
long sayPreemptions() {
  ++looks;
  return preemptions;
}

class CompanyTest : public ::testing::Test {
protected:
  CompanyTest() { preemptions = looks = 0; }

  bool isThereAfter(std::chrono::microseconds time) {
    return company.isThere(now += time);
  }

  Company company{sayPreemptions};
  Clock::time_point now = Clock::now();
};

TEST_F(CompanyTest, NobodyIsThereWhereNothingHappens) {
  for (int i = 0; i < 1000; ++i)
    EXPECT_FALSE(isThereAfter(100us));
}

/// The system is asked once a millisecond at most: a question takes as long as
/// some kernels.
TEST_F(CompanyTest, LooksOnceAMillisecond) {
  for (int i = 0; i < 10000; ++i)
    isThereAfter(10us);
  EXPECT_LE(looks, 101);
  EXPECT_GE(looks, 90);
}

TEST_F(CompanyTest, StaysForAWhile) {
  isThereAfter(2ms);
  preemptions = 1;
  EXPECT_TRUE(isThereAfter(2ms));
  EXPECT_TRUE(isThereAfter(19ms));
  EXPECT_FALSE(isThereAfter(2ms));
}

/// Where it comes again and again, it is believed for longer, up to a limit.
TEST_F(CompanyTest, StaysLongerEachTime) {
  now += Company::kMostBusy;
  for (auto busy : {20ms, 40ms, 80ms, 160ms, 320ms, 320ms}) {
    ++preemptions;
    ASSERT_TRUE(isThereAfter(2ms));
    ASSERT_TRUE(isThereAfter(busy - 1ms)) << busy.count();
    ASSERT_FALSE(isThereAfter(1ms)) << busy.count();
  }
  now += 2 * Company::kMostBusy; // it has not come for long
  ++preemptions;
  EXPECT_TRUE(isThereAfter(2ms));
  EXPECT_FALSE(isThereAfter(20ms));
}

TEST_F(CompanyTest, ASystemThatDoesNotSay) {
  preemptions = -1;
  EXPECT_FALSE(isThereAfter(2ms));
}

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
