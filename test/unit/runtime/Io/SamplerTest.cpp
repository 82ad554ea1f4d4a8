#include "runtime/Io/Sampler.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <vector>

namespace zc {
namespace {

std::vector<int64_t> epoch(const Sampler &sampler, int64_t samples,
                           int64_t number) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < samples; ++i)
    order.push_back(sampler.sample(0, number * samples + i));
  return order;
}

TEST(Sampler, EveryEpochIsAPermutation) {
  for (int64_t samples : {1, 2, 3, 10, 64, 1000, 1797}) {
    Sampler sampler(samples, 4, 1, true);
    for (int64_t number = 0; number < 3; ++number) {
      auto order = epoch(sampler, samples, number);
      std::sort(order.begin(), order.end());
      for (int64_t i = 0; i < samples; ++i)
        ASSERT_EQ(order[i], i);
    }
  }
}

TEST(Sampler, EpochsAndSeedsDiffer) {
  auto order = [](uint64_t seed, int64_t number) {
    return epoch(Sampler(100, 10, seed, true), 100, number);
  };
  EXPECT_NE(order(1, 0), order(1, 1));
  EXPECT_NE(order(1, 0), order(2, 0));
  EXPECT_EQ(order(1, 0), order(1, 0));
}

// Every sample should reach every place about equally often.
TEST(Sampler, PermutationsLookRandom) {
  constexpr int n = 10, trials = 20000;
  std::vector<int> counts(n * n);
  for (int key = 0; key < trials; ++key)
    for (int i = 0; i < n; ++i)
      ++counts[i * n + int(permute(i, n, uint64_t(key) * 77))];
  double chiSquare = 0, expected = double(trials) / n;
  for (int count : counts)
    chiSquare += (count - expected) * (count - expected) / expected;
  // 81 degrees of freedom: beyond 140 once in twenty thousand.
  EXPECT_LT(chiSquare, 140);
}

TEST(Sampler, WithoutShufflingStepsWrapAround) {
  Sampler sampler(10, 4, 0, false);
  EXPECT_EQ(sampler.sample(0, 3), 3);
  EXPECT_EQ(sampler.sample(2, 1), 9);
  EXPECT_EQ(sampler.sample(2, 2), 0);
  EXPECT_EQ(sampler.sample(5, 0), 0);
}

TEST(Sampler, EpochsAreRoundedUpToSteps) {
  EXPECT_EQ(*Sampler(10, 4, 0, true).stepsFor(1), 3);
  EXPECT_EQ(*Sampler(10, 4, 0, true).stepsFor(2), 5);
  EXPECT_EQ(*Sampler(3, 8, 0, true).stepsFor(1), 1);
}

} // namespace
} // namespace zc
