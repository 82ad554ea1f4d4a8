// Roles dealt to stages against all ways to deal them, and VGG-16 on a cluster
// with slow links.
#include "passes/Pipeline/Replicas.h"
#include "passes/Pipeline/Partition.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>
#include <set>

namespace zc {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

struct Case {
  std::vector<Segment> segments;
  int64_t roles = 1, microBatches = 1;
  ReplicaCosts costs;
  MemoryLimit memory;
};

/// By the definitions of Replicas.h; kNever: it is no partition, or too large.
double judge(const Case &each, const std::vector<int64_t> &begins,
             const std::vector<int64_t> &replicas) {
  double sum = 0, wait = 0;
  int64_t behind = each.roles;
  for (size_t stage = 0; stage < begins.size(); ++stage) {
    const size_t end =
        stage + 1 < begins.size() ? begins[stage + 1] : each.segments.size();
    const double count = double(replicas[stage]);
    const double own = std::ceil(double(each.microBatches) / count);
    const double inFlight = std::min(own, std::ceil(double(behind) / count));
    const Segment &first = each.segments[begins[stage]];
    double cut = stage ? first.cutSeconds : 0, time = 0, gradients = 0;
    double bytes = stage ? 3 * first.cutBytes : 0, work = 0;
    if (end < each.segments.size())
      bytes += 4 * each.segments[end].cutBytes;
    bool trains = false, isSingle = false;
    std::set<size_t> tensors;
    for (size_t i = begins[stage]; i < end; ++i) {
      const Segment &segment = each.segments[i];
      time += segment.seconds;
      trains |= segment.trains;
      isSingle |= segment.isSingle;
      work = std::max(work, segment.workBytes);
      bytes += inFlight * segment.stashBytes;
      tensors.insert(segment.tensors.begin(), segment.tensors.end());
    }
    for (size_t tensor : tensors) {
      gradients += each.costs.gradientBytes[tensor];
      bytes += each.memory.tensorBytes[tensor];
    }
    if (!trains || replicas[stage] > each.microBatches ||
        (isSingle && replicas[stage] > 1) ||
        (each.memory.bytes > 0 && bytes + work > each.memory.bytes))
      return kNever;
    sum += time + cut;
    wait = std::max(
        wait, std::max((own - 1) * time, double(each.microBatches - 1) * cut) +
                  2 * (count - 1) / count * gradients / each.costs.linkBytes);
    behind -= replicas[stage];
  }
  return sum + wait;
}

double bruteForce(const Case &each, std::vector<int64_t> begins = {0},
                  std::vector<int64_t> replicas = {}) {
  double best = kNever;
  const int64_t used =
      std::accumulate(replicas.begin(), replicas.end(), int64_t(0));
  for (int64_t more = 1; used + more <= each.roles; ++more) {
    replicas.push_back(more);
    if (used + more == each.roles)
      best = std::min(best, judge(each, begins, replicas));
    for (int64_t next = begins.back() + 1;
         next < int64_t(each.segments.size()) && used + more < each.roles;
         ++next) {
      std::vector<int64_t> longer = begins;
      longer.push_back(next);
      best = std::min(best, bruteForce(each, longer, replicas));
    }
    replicas.pop_back();
  }
  return best;
}

Case makeCase(std::mt19937 &random) {
  std::uniform_real_distribution<double> one(0, 1);
  Case made;
  made.roles = 1 + random() % 5;
  made.microBatches = 1 + random() % 9;
  made.costs.linkBytes = 1;
  for (size_t i = 0; i < 5; ++i) {
    made.costs.gradientBytes.push_back(random() % 3 ? one(random) : 0);
    made.memory.tensorBytes.push_back(one(random));
  }
  made.segments.resize(1 + random() % 7);
  for (Segment &segment : made.segments) {
    segment.seconds = one(random);
    segment.cutSeconds = 0.3 * one(random);
    segment.trains = random() % 4 != 0;
    segment.isSingle = random() % 16 == 0;
    segment.stashBytes = 0.3 * one(random);
    segment.workBytes = 0.3 * one(random);
    segment.cutBytes = 0.1 * one(random);
    for (size_t tensor = 0; tensor < 5; ++tensor)
      if (random() % 4 == 0)
        segment.tensors.push_back(tensor);
  }
  return made;
}

TEST(Replicas, AsBruteForce) {
  std::mt19937 random(5);
  int dealt = 0, impossible = 0, limited = 0;
  for (int i = 0; i < 2000; ++i) {
    Case each = makeCase(random);
    const double any = bruteForce(each);
    if (i % 2)
      each.memory.bytes = 1 + 3 * double(random() % 1000) / 1000;
    double expected = bruteForce(each);
    limited += expected > any;
    if (expected == kNever) // nothing fits: as if anything did
      expected = any;
    auto found = partitionReplicated(
        each.segments, each.roles, each.microBatches, each.costs, each.memory);
    ASSERT_EQ(found.has_value(), expected < kNever) << i;
    if (!found) {
      ++impossible;
      continue;
    }
    EXPECT_NEAR(found->seconds, expected, 1e-9) << i;
    EXPECT_NEAR(found->seconds,
                estimateReplicated(each.segments, each.microBatches, each.costs,
                                   found->begins, found->replicas),
                1e-9);
    EXPECT_EQ(std::accumulate(found->replicas.begin(), found->replicas.end(),
                              int64_t(0)),
              each.roles);
    dealt +=
        found->replicas.size() > 1 &&
        *std::max_element(found->replicas.begin(), found->replicas.end()) > 1;
  }
  EXPECT_GT(dealt, 100);
  EXPECT_GT(impossible, 50);
  EXPECT_GT(limited, 50);
}

/// VGG-16's convolutions and matmuls for micro-batches of so many images, on
/// V100s (15.7 TFLOP/s, of which half) with 10 Gbit/s between them.
Case makeVgg(int64_t images) {
  struct Layer {
    double inputs, outputs, size, kernel; // channels, pixels a side
  };
  const std::vector<Layer> layers = {
      {3, 64, 224, 3},    {64, 64, 224, 3},    {64, 128, 112, 3},
      {128, 128, 112, 3}, {128, 256, 56, 3},   {256, 256, 56, 3},
      {256, 256, 56, 3},  {256, 512, 28, 3},   {512, 512, 28, 3},
      {512, 512, 28, 3},  {512, 512, 14, 3},   {512, 512, 14, 3},
      {512, 512, 14, 3},  {25088, 4096, 1, 1}, {4096, 4096, 1, 1},
      {4096, 1000, 1, 1}};
  Case vgg;
  vgg.roles = 16;
  vgg.microBatches = 64;
  vgg.costs.linkBytes = 1.25e9;
  double parameters = 0;
  for (const Layer &layer : layers) {
    const double weights =
        layer.kernel * layer.kernel * layer.inputs * layer.outputs;
    Segment &segment = vgg.segments.emplace_back();
    segment.seconds = 3 * 2 * weights * layer.size * layer.size *
                      double(images) / (0.5 * 15.7e12);
    segment.trains = true;
    segment.tensors = {vgg.segments.size() - 1};
    // Pooling halves each side in front of every size but the first.
    const double side = layer.kernel > 1 ? layer.size : 1;
    segment.cutSeconds = 2 * 4 * layer.inputs * side * side * double(images) /
                         vgg.costs.linkBytes;
    parameters += weights + layer.outputs;
    vgg.costs.gradientBytes.push_back(4 * (weights + layer.outputs));
  }
  EXPECT_NEAR(parameters, 138357544, 1); // as torchvision counts them
  return vgg;
}

TEST(Replicas, Vgg16HasReplicasOfItsConvolutions) {
  const Case vgg = makeVgg(32);
  auto found =
      partitionReplicated(vgg.segments, vgg.roles, vgg.microBatches, vgg.costs);
  ASSERT_TRUE(found);
  // PipeDream's own result has the same form: 15 of 16 have the convolutions
  // (Narayanan et al. 2019, table 1).
  EXPECT_GE(found->replicas.front(), 12);
  EXPECT_EQ(found->replicas.back(), 1);
  ASSERT_GE(found->begins.size(), 2u);
  EXPECT_GE(found->begins.back(), 13); // the first matmul
  auto estimate = [&](const std::vector<int64_t> &begins,
                      const std::vector<int64_t> &replicas) {
    return estimateReplicated(vgg.segments, vgg.microBatches, vgg.costs, begins,
                              replicas);
  };
  std::vector<int64_t> all(16);
  std::iota(all.begin(), all.end(), 0);
  const double parallel = estimate({0}, {16});
  const double straight = estimate(all, std::vector<int64_t>(16, 1));
  RecordProperty("replicated_ms", int(1e3 * found->seconds));
  RecordProperty("data_parallel_ms", int(1e3 * parallel));
  RecordProperty("straight_ms", int(1e3 * straight));
  EXPECT_LT(found->seconds, parallel);
  EXPECT_LT(found->seconds, straight);
}

/// Straight pipelines of uneven layers: as many layers each are slower than
/// what costs say, by the stage that has most to do as well as by the step.
TEST(Replicas, Vgg16IsCutBetterByCostThanByCount) {
  const Case vgg = makeVgg(32);
  MemoryLimit anyRoom;
  anyRoom.tensorBytes = vgg.costs.gradientBytes;
  auto slowest = [&](const std::vector<int64_t> &begins) {
    double most = 0;
    for (size_t stage = 0; stage < begins.size(); ++stage) {
      const size_t end =
          stage + 1 < begins.size() ? begins[stage + 1] : vgg.segments.size();
      double own = 0;
      for (size_t i = begins[stage]; i < end; ++i)
        own += vgg.segments[i].seconds;
      most = std::max({most, own, vgg.segments[begins[stage]].cutSeconds});
    }
    return most;
  };
  for (int64_t stages : {2, 4, 8}) {
    SCOPED_TRACE(stages);
    anyRoom.inFlight.assign(stages, 1);
    auto found = partition(vgg.segments, stages, vgg.microBatches, anyRoom);
    ASSERT_TRUE(found);
    std::vector<int64_t> even;
    for (int64_t stage = 0; stage < stages; ++stage)
      even.push_back(stage * 16 / stages);
    auto step = [&](const std::vector<int64_t> &begins) {
      return estimateReplicated(vgg.segments, vgg.microBatches, vgg.costs,
                                begins, std::vector<int64_t>(stages, 1));
    };
    EXPECT_LT(slowest(found->begins), 0.95 * slowest(even));
    EXPECT_LT(step(found->begins), 0.95 * step(even));
  }
}

} // namespace
} // namespace zc
