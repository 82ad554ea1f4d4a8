// Stages by dynamic programming against all partitions there are.
#include "passes/Pipeline/Partition.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace zc {
namespace {

double secondsOf(const std::vector<Segment> &segments,
                 const std::vector<int64_t> &begins, int64_t microBatches) {
  double sum = 0, slowest = 0;
  for (size_t stage = 0; stage < begins.size(); ++stage) {
    size_t end =
        stage + 1 < begins.size() ? begins[stage + 1] : segments.size();
    double cut = stage ? segments[begins[stage]].cutSeconds : 0, own = 0;
    bool trains = false;
    for (size_t i = begins[stage]; i < end; ++i) {
      own += segments[i].seconds;
      trains |= segments[i].trains;
    }
    if (!trains)
      return std::numeric_limits<double>::infinity();
    sum += own + cut;
    slowest = std::max({slowest, own, cut});
  }
  return sum + double(microBatches - 1) * slowest;
}

/// The least over all partitions, one cut after another.
double bruteForce(const std::vector<Segment> &segments, int64_t stages,
                  int64_t microBatches, std::vector<int64_t> begins = {0}) {
  if (int64_t(begins.size()) == stages)
    return secondsOf(segments, begins, microBatches);
  double best = std::numeric_limits<double>::infinity();
  for (int64_t next = begins.back() + 1; next < int64_t(segments.size());
       ++next) {
    std::vector<int64_t> longer = begins;
    longer.push_back(next);
    best = std::min(best, bruteForce(segments, stages, microBatches, longer));
  }
  return best;
}

TEST(Partition, EqualsBruteForce) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> time(0, 1), message(0, 0.3);
  unsigned impossible = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<Segment> segments(1 + random() % 10);
    for (Segment &segment : segments)
      segment = {time(random), message(random), random() % 4 != 0};
    int64_t stages = 1 + random() % 4, microBatches = 1 + random() % 12;
    double expected = bruteForce(segments, stages, microBatches);
    auto found = partition(segments, stages, microBatches);
    ASSERT_EQ(found.has_value(), std::isfinite(expected)) << "trial " << trial;
    impossible += !found;
    if (!found)
      continue;
    EXPECT_NEAR(found->seconds, expected, 1e-7) << "trial " << trial;
    EXPECT_NEAR(secondsOf(segments, found->begins, microBatches), expected,
                1e-7);
  }
  EXPECT_GT(impossible, 50u);
}

// 16 equal layers on 4 devices: 4 each (Narayanan et al. 2021, figure 4).
TEST(Partition, EqualLayersAreDealtEvenly) {
  std::vector<Segment> layers(16, Segment{1, 0, true});
  auto found = partition(layers, 4, 8);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->begins, (std::vector<int64_t>{0, 4, 8, 12}));
  EXPECT_EQ(found->slowest, 4);
  EXPECT_EQ(found->seconds, 16 + 7 * 4);
}

TEST(Partition, TooFewPlacesThatTrain) {
  std::vector<Segment> segments(5, Segment{1, 0, false});
  segments[1].trains = segments[4].trains = true;
  EXPECT_TRUE(partition(segments, 2, 4));
  EXPECT_FALSE(partition(segments, 3, 4));
}

} // namespace
} // namespace zc
