// Whether others want a thread's processor.
#include "runtime/Base/Company.h"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>

namespace zc::test {
namespace {

using namespace std::chrono_literals;
using Clock = Company::Clock;

// A system that says what the test wants.
ThreadTimes said;
long looks;
ThreadTimes say() {
  ++looks;
  return said;
}

class CompanyTest : public ::testing::Test {
protected:
  CompanyTest() {
    said = {};
    looks = 0;
    company.isThere(now);
  }

  /// The thread runs for all of this time but for what others take.
  bool isThereAfter(std::chrono::microseconds time,
                    std::chrono::microseconds taken = 0us) {
    if (taken > 0us)
      ++said.preemptions;
    said.running += time - taken;
    return company.isThere(now += time);
  }

  Company company{say};
  Clock::time_point now = Clock::now();
};

TEST_F(CompanyTest, NobodyIsThereWhereNothingHappens) {
  for (int i = 0; i < 1000; ++i)
    EXPECT_FALSE(isThereAfter(100us));
}

/// The system is asked once a millisecond at most: a question takes as long as
/// some kernels.
TEST_F(CompanyTest, LooksOnceAMillisecond) {
  looks = 0;
  for (int i = 0; i < 10000; ++i)
    isThereAfter(10us);
  EXPECT_LE(looks, 101);
  EXPECT_GE(looks, 90);
}

TEST_F(CompanyTest, StaysForAWhile) {
  EXPECT_TRUE(isThereAfter(5ms, 2ms));
  EXPECT_TRUE(isThereAfter(19ms));
  EXPECT_FALSE(isThereAfter(2ms));
}

/// Daemons and threads of the kernel run everywhere. (Measured: 30 times a
/// second, 30 microseconds each, on a machine that does nothing.)
TEST_F(CompanyTest, DaemonsAreNone) {
  for (int i = 0; i < 100; ++i)
    ASSERT_FALSE(isThereAfter(30ms, 50us)) << i;
  ASSERT_FALSE(isThereAfter(30ms, 900us)) << "one that takes longer for once";
}

/// Many short ones are as many as one that is long.
TEST_F(CompanyTest, ManyShortOnesAreNoticed) {
  bool found = false;
  for (int i = 0; i < 10; ++i)
    found = isThereAfter(2ms, 200us) || found;
  EXPECT_TRUE(found);
}

/// Who sleeps does not run, which is nobody's doing. How long a preemption took
/// meanwhile is not known.
TEST_F(CompanyTest, SleepIsNotTakenForCompany) {
  for (int i = 0; i < 100; ++i) {
    ++said.sleeps;
    ++said.preemptions;
    ASSERT_FALSE(company.isThere(now += 30ms)) << i;
  }
  said.preemptions += 20;
  ++said.sleeps;
  EXPECT_TRUE(company.isThere(now += 2ms));
}

/// Where it comes again and again, it is believed for longer, up to a limit.
TEST_F(CompanyTest, StaysLongerEachTime) {
  isThereAfter(Company::kMostBusy);
  for (auto busy : {20ms, 40ms, 80ms, 160ms, 320ms, 320ms}) {
    ASSERT_TRUE(isThereAfter(4ms, 2ms));
    ASSERT_TRUE(isThereAfter(busy - 1ms)) << busy.count();
    ASSERT_FALSE(isThereAfter(1ms)) << busy.count();
  }
  isThereAfter(2 * Company::kMostBusy); // it has not come for long
  EXPECT_TRUE(isThereAfter(4ms, 2ms));
  EXPECT_FALSE(isThereAfter(20ms));
}

TEST_F(CompanyTest, ASystemThatDoesNotSay) {
  said.preemptions = -1;
  EXPECT_FALSE(company.isThere(now += 2ms));
}

TEST(Company, TheSystemSaysWhatAThreadDid) {
  const ThreadTimes before = readThreadTimes();
  ASSERT_GE(before.preemptions, 0);
  std::this_thread::sleep_for(2ms);
  const auto end = Clock::now() + 20ms;
  while (Clock::now() < end) {
  }
  const ThreadTimes after = readThreadTimes();
  EXPECT_GT(after.sleeps, before.sleeps);
  EXPECT_GT(after.running, before.running);
}

TEST(Company, WaitsAwakeForWhatComes) {
  std::atomic<int> looked{0};
  EXPECT_TRUE(waitAwake(10s, [&] { return ++looked == 10; }));
  EXPECT_EQ(looked, 10);
  const auto begin = Clock::now();
  EXPECT_FALSE(waitAwake(1ms, [] { return false; }));
  EXPECT_LT(Clock::now() - begin, 5s);
}

} // namespace
} // namespace zc::test
