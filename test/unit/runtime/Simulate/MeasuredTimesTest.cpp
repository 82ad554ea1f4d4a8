#include "runtime/Simulate/MeasuredTimes.h"

#include <gtest/gtest.h>

namespace zc {
namespace {

MeasuredTimes makeTimes() {
  MeasuredTimes times;
  times.add({"kernel", "train.add", 1 << 10, 12 << 10, 1e-6});
  times.add({"kernel", "train.add", 1 << 20, 12 << 20, 4e-3});
  times.add({"kernel", "train.exp+add", 8 << 10, 12 << 10, 9e-6});
  times.add({"copy", "copy", 0, 1 << 20, 1e-4});
  return times;
}

TEST(MeasuredTimes, AnInstructionThatWasTimedTakesWhatItTook) {
  const MeasuredTimes times = makeTimes();
  EXPECT_NEAR(*times.find({"kernel", "train.add", 1 << 20, 12 << 20}), 4e-3,
              1e-5);
  EXPECT_NEAR(*times.find({"copy", "copy", 0, 1 << 20}), 1e-4, 1e-9);
}

TEST(MeasuredTimes, TimeGrowsWithTheSize) {
  const MeasuredTimes times = makeTimes();
  EXPECT_NEAR(*times.find({"copy", "copy", 0, 8 << 20}), 8e-4, 1e-6);
  // Nearer to the large one, whose bytes take longer than those of the small
  // one, which come out of caches.
  const double twice = *times.find({"kernel", "train.add", 2 << 20, 24 << 20});
  EXPECT_GT(twice, 7.5e-3);
  EXPECT_LT(twice, 8e-3);
}

TEST(MeasuredTimes, OfOtherOperatorsTheLikestCount) {
  const MeasuredTimes times = makeTimes();
  const double known =
      *times.find({"kernel", "train.exp+add", 8 << 10, 12 << 10});
  EXPECT_NEAR(known, 9e-6, 1e-9);
  // It shares both operators with the one and one with the others.
  const double near =
      *times.find({"kernel", "train.exp+add+mul", 8 << 10, 12 << 10});
  EXPECT_GT(near, 5e-6);
  EXPECT_LT(near, 1.2e-5);
}

TEST(MeasuredTimes, AKindThatWasNotTimedIsNotGuessed) {
  EXPECT_FALSE(makeTimes().find({"pooling", "train.pool", 1, 1}).has_value());
  EXPECT_TRUE(MeasuredTimes().empty());
}

/// A call of one size is no kernel: it is compared by its work.
TEST(MeasuredTimes, KernelsAreKnownByTheirKind) {
  MeasuredTimes times;
  times.add({"sort", "sort", 100, 100, 1, {8}});
  times.add({"kernel", "train.add", 100, 100, 1, {8}});
  EXPECT_NEAR(*times.find({"sort", "sort", 400, 100, 0, {8}}), 4, 1e-9);
  // By the geometric mean of its bytes and its work, (101 / 101 * 4)^(1/2).
  EXPECT_NEAR(*times.find({"kernel", "train.add", 400, 100, 0, {8}}), 2, 1e-9);
}

TEST(MeasuredTimes, OperatorsAreTheFirstWordOfALabel) {
  EXPECT_EQ(operatorsOfLabel("train.add+gelu h.0/Gelu"), "train.add+gelu");
}

} // namespace
} // namespace zc
