// Stages by dynamic programming against all partitions there are.
#include "passes/Pipeline/Partition.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <set>

namespace zc {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

struct Outcome {
  double seconds = kNever, bytes = kNever; // kNever: a stage trains nothing
};

/// By the definitions of Partition.h.
Outcome judge(const std::vector<Segment> &segments,
              const std::vector<int64_t> &begins, int64_t microBatches,
              const MemoryLimit &memory, const LinkShares &links = {}) {
  double sum = 0, slowest = 0, most = 0;
  for (size_t stage = 0; stage < begins.size(); ++stage) {
    size_t end =
        stage + 1 < begins.size() ? begins[stage + 1] : segments.size();
    double cut = stage ? segments[begins[stage]].cutSeconds : 0, own = 0;
    if (stage < links.size())
      cut *= links[stage];
    bool trains = false;
    double bytes = stage ? 3 * segments[begins[stage]].cutBytes : 0, work = 0;
    if (end < segments.size())
      bytes += 4 * segments[end].cutBytes;
    std::set<size_t> tensors;
    for (size_t i = begins[stage]; i < end; ++i) {
      own += segments[i].seconds;
      trains |= segments[i].trains;
      bytes += segments[i].stashBytes *
               (stage < memory.inFlight.size() ? memory.inFlight[stage] : 1);
      work = std::max(work, segments[i].workBytes);
      tensors.insert(segments[i].tensors.begin(), segments[i].tensors.end());
    }
    if (!trains)
      return {};
    for (size_t tensor : tensors)
      bytes += memory.tensorBytes[tensor];
    bytes += work;
    sum += own + cut;
    slowest = std::max({slowest, own, cut});
    most = std::max(most, bytes);
  }
  return {sum + double(microBatches - 1) * slowest, most};
}

/// Judges all partitions, one cut after another.
std::vector<Outcome> judgeAll(const std::vector<Segment> &segments,
                              int64_t stages, int64_t microBatches,
                              const MemoryLimit &memory,
                              const LinkShares &links,
                              std::vector<int64_t> begins = {0}) {
  if (int64_t(begins.size()) == stages)
    return {judge(segments, begins, microBatches, memory, links)};
  std::vector<Outcome> all;
  for (int64_t next = begins.back() + 1; next < int64_t(segments.size());
       ++next) {
    std::vector<int64_t> longer = begins;
    longer.push_back(next);
    for (const Outcome &outcome :
         judgeAll(segments, stages, microBatches, memory, links, longer))
      all.push_back(outcome);
  }
  return all;
}

/// The quickest that fits; where none does, the quickest of those whose largest
/// stage is smallest.
Outcome bruteForce(const std::vector<Segment> &segments, int64_t stages,
                   int64_t microBatches, const MemoryLimit &memory,
                   const LinkShares &links) {
  const std::vector<Outcome> all =
      judgeAll(segments, stages, microBatches, memory, links);
  double least = kNever;
  for (const Outcome &outcome : all)
    least = std::min(least, outcome.bytes);
  const double room = memory.bytes > 0 ? std::max(memory.bytes, least) : kNever;
  Outcome best;
  for (const Outcome &outcome : all)
    if (outcome.bytes <= room * (1 + 1e-9) && outcome.seconds < best.seconds)
      best = outcome;
  return best;
}

struct Counts {
  unsigned impossible = 0, tooLarge = 0, slower = 0;
};

void compareWithBruteForce(std::mt19937 &random, bool isLimited,
                           Counts &counts) {
  std::uniform_real_distribution<double> time(0, 1), message(0, 0.3);
  MemoryLimit memory;
  for (size_t i = 0; i < 6; ++i)
    memory.tensorBytes.push_back(time(random));
  std::vector<Segment> segments(1 + random() % 10);
  for (Segment &segment : segments) {
    segment.seconds = time(random);
    segment.cutSeconds = message(random);
    segment.trains = random() % 4 != 0;
    segment.stashBytes = message(random);
    segment.workBytes = message(random);
    segment.cutBytes = message(random) / 4;
    for (size_t tensor = 0; tensor < memory.tensorBytes.size(); ++tensor)
      if (random() % 4 == 0)
        segment.tensors.push_back(tensor);
  }
  const int64_t stages = 1 + random() % 4, microBatches = 1 + random() % 12;
  for (int64_t stage = 0; stage < stages; ++stage)
    memory.inFlight.push_back(std::min(microBatches, stages - stage));
  LinkShares links; // of some stages
  for (int64_t stage = 0; stage < stages && random() % 4 != 0; ++stage)
    links.push_back(time(random));
  const Outcome anyRoom =
      bruteForce(segments, stages, microBatches, memory, links);
  if (isLimited)
    memory.bytes = 1 + 4 * time(random);
  const Outcome expected =
      bruteForce(segments, stages, microBatches, memory, links);
  auto found = partition(segments, stages, microBatches, memory, links);
  ASSERT_EQ(found.has_value(), std::isfinite(expected.seconds));
  counts.impossible += !found;
  if (!found)
    return;
  counts.tooLarge += isLimited && expected.bytes > memory.bytes;
  counts.slower += expected.seconds > anyRoom.seconds + 1e-6;
  EXPECT_NEAR(found->seconds, expected.seconds, 1e-7);
  const Outcome outcome =
      judge(segments, found->begins, microBatches, memory, links);
  EXPECT_NEAR(outcome.seconds, expected.seconds, 1e-7);
  EXPECT_NEAR(outcome.bytes, found->mostBytes, 1e-7);
}

TEST(Partition, EqualsBruteForce) {
  std::mt19937 random(7);
  Counts counts;
  for (int trial = 0; trial < 2000; ++trial) {
    SCOPED_TRACE(trial);
    compareWithBruteForce(random, /*isLimited=*/false, counts);
  }
  EXPECT_GT(counts.impossible, 50u);
}

TEST(Partition, EqualsBruteForceInLittleMemory) {
  std::mt19937 random(11);
  Counts counts;
  for (int trial = 0; trial < 2000; ++trial) {
    SCOPED_TRACE(trial);
    compareWithBruteForce(random, /*isLimited=*/true, counts);
  }
  EXPECT_GT(counts.impossible, 50u);
  EXPECT_GT(counts.tooLarge, 100u); // where no partition fits
  EXPECT_GT(counts.slower, 100u);   // where the quickest does not
}

Segment layer(double stashBytes = 0) {
  Segment segment;
  segment.seconds = 1;
  segment.trains = true;
  segment.stashBytes = stashBytes;
  return segment;
}

// 16 equal layers on 4 devices: 4 each (Narayanan et al. 2021, figure 4).
TEST(Partition, EqualLayersAreDealtEvenly) {
  std::vector<Segment> layers(16, layer());
  auto found = partition(layers, 4, 8);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->begins, (std::vector<int64_t>{0, 4, 8, 12}));
  EXPECT_EQ(found->slowest, 4);
  EXPECT_EQ(found->seconds, 16 + 7 * 4);
}

// Messages of 6 seconds over a link of the slowest kind, of 1 inside of a node:
// the cut with the largest one falls where the link is quick.
TEST(Partition, LargeMessagesTakeQuickLinks) {
  std::vector<Segment> layers(6, layer());
  for (Segment &each : layers)
    each.cutSeconds = 1;
  layers[2].cutSeconds = layers[4].cutSeconds = 6;
  auto alike = partition(layers, 3, 8);
  ASSERT_TRUE(alike);
  EXPECT_EQ(alike->slowest, 3); // no cut at 2 or 4
  auto found = partition(layers, 3, 8, {}, {1, 1.0 / 6, 1.0 / 6});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->begins, (std::vector<int64_t>{0, 2, 4}));
  EXPECT_EQ(found->slowest, 2);
}

// With 1f1b the first of four stages keeps four micro-batches, the last one:
// in little memory it gets fewer layers.
TEST(Partition, FirstStagesKeepMore) {
  std::vector<Segment> layers(8, layer(1));
  MemoryLimit memory;
  memory.inFlight = {4, 3, 2, 1};
  EXPECT_EQ(partition(layers, 4, 8, memory)->mostBytes, 8);
  memory.bytes = 6;
  auto found = partition(layers, 4, 8, memory);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->begins[1], 1);
  EXPECT_LE(found->mostBytes, 6);
  // All keep as many with gpipe: nothing fits, and the even ones need least.
  memory.inFlight = {8, 8, 8, 8};
  found = partition(layers, 4, 8, memory);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->begins, (std::vector<int64_t>{0, 2, 4, 6}));
  EXPECT_EQ(found->mostBytes, 16);
}

// A tensor that two segments of a stage read counts once.
TEST(Partition, TensorsCountOncePerStage) {
  std::vector<Segment> layers(4, layer());
  layers[0].tensors = layers[1].tensors = {0};
  layers[2].tensors = layers[3].tensors = {1};
  MemoryLimit memory;
  memory.tensorBytes = {10, 20};
  EXPECT_EQ(partition(layers, 2, 4, memory)->mostBytes, 20);
  EXPECT_EQ(partition(layers, 1, 4, memory)->mostBytes, 30);
}

TEST(Partition, TooFewPlacesThatTrain) {
  std::vector<Segment> segments(5, layer());
  for (Segment &segment : segments)
    segment.trains = false;
  segments[1].trains = segments[4].trains = true;
  EXPECT_TRUE(partition(segments, 2, 4));
  EXPECT_FALSE(partition(segments, 3, 4));
}

} // namespace
} // namespace zc
