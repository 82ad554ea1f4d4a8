// Whether others want a thread's processor.
#include "runtime/Base/Company.h"

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

/// However long nobody looked.
TEST_F(CompanyTest, DaemonsAreNoneInALongStep) {
  said.preemptions += 900;
  said.running += 30s - 900 * 30us;
  EXPECT_FALSE(company.isThere(now += 30s));
  said.preemptions += 900;
  ++said.sleeps;
  EXPECT_FALSE(company.isThere(now += 30s));
}

/// Many short ones are as many as one that is long.
TEST_F(CompanyTest, ManyShortOnesAreNoticed) {
  bool found = false;
  for (int i = 0; i < 10; ++i)
    found = isThereAfter(2ms, 200us) || found;
  EXPECT_TRUE(found);
}

/// A thread that sleeps does not run, which is nobody's doing. How long a
/// preemption took meanwhile is not known.
TEST_F(CompanyTest, SleepIsNotTakenForCompany) {
  for (int i = 0; i < 100; ++i) {
    ++said.sleeps;
    ++said.preemptions;
    ASSERT_FALSE(company.isThere(now += 30ms)) << i;
  }
  bool found = false;
  for (int i = 0; i < 20; ++i) { // it sleeps and is taken off all the time
    ++said.sleeps;
    ++said.preemptions;
    said.running += 1ms;
    found = company.isThere(now += 2ms) || found;
  }
  EXPECT_TRUE(found);
}

TEST_F(CompanyTest, MayTurnOutToHaveBeenTheTeamItself) {
  EXPECT_TRUE(isThereAfter(5ms, 2ms));
  EXPECT_EQ(company.end(), now + Company::kBusy);
  company.forget();
  EXPECT_FALSE(isThereAfter(2ms));
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
  looks = 0;
  for (int i = 0; i < 100; ++i)
    EXPECT_FALSE(company.isThere(now += 100us));
  EXPECT_LE(looks, 10);
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

/// In a thread that never had company.
TEST(Company, WaitsAwakeForWhatComes) {
  std::thread([] {
    int looked = 0;
    EXPECT_TRUE(waitAwake(10s, [&] { return ++looked == 10; }));
    const auto begin = Clock::now();
    EXPECT_FALSE(waitAwake(1ms, [] { return false; }));
    const auto now = Clock::now();
    EXPECT_TRUE(now - begin >= 1ms || ownCompany().isThere(now));
    EXPECT_FALSE(waitAwake(0ms, [] { return true; }));
  }).join();
}

} // namespace
} // namespace zc::test
