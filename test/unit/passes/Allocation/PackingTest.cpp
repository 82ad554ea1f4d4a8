//===- PackingTest.cpp ----------------------------------------------------===//
#include "passes/Allocation/Packing.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <chrono>
#include <random>

namespace zc {
namespace {

constexpr int64_t kAlignment = 64;

using Items = std::vector<PackingItem>;

int64_t alignUp(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

Items randomItems(unsigned count, unsigned times, std::mt19937 &random) {
  Items items;
  for (unsigned i = 0; i < count; ++i) {
    unsigned first = random() % times;
    unsigned last = std::min(times - 1, first + unsigned(random() % 6));
    items.push_back({int64_t(random() % 1000), first, last});
  }
  return items;
}

/// Byte by byte and moment by moment, as slow as it is plain.
bool isSound(const Items &items, const Packing &packing, unsigned times) {
  for (unsigned time = 0; time < times; ++time) {
    std::vector<bool> taken(packing.bytes / kAlignment + 1);
    for (size_t i = 0; i < items.size(); ++i) {
      if (items[i].first > time || items[i].last < time)
        continue;
      int64_t begin = packing.offsets[i] / kAlignment;
      int64_t end = begin + alignUp(items[i].bytes) / kAlignment;
      if (packing.offsets[i] % kAlignment != 0 ||
          end * kAlignment > packing.bytes)
        return false;
      for (int64_t block = begin; block < end; ++block) {
        if (taken[block])
          return false;
        taken[block] = true;
      }
    }
  }
  return true;
}

// Tests soundness and the bound by brute force, and that the result is close to
// it.
TEST(PackingTest, RandomItemsNeverOverlap) {
  std::mt19937 random(3);
  int64_t total = 0, bound = 0;
  for (int round = 0; round < 200; ++round) {
    unsigned times = 1 + random() % 30;
    Items items = randomItems(random() % 60, times, random);
    Packing packing = packItems(items, kAlignment);
    ASSERT_TRUE(isSound(items, packing, times)) << "round " << round;
    ASSERT_GE(packing.bytes, packing.lowerBound);
    total += packing.bytes;
    bound += packing.lowerBound;
  }
  EXPECT_LT(static_cast<double>(total), 1.05 * static_cast<double>(bound));
}

// Tests that two runs agree.
TEST(PackingTest, IsDeterministic) {
  std::mt19937 random(4);
  Items items = randomItems(300, 100, random);
  EXPECT_EQ(packItems(items, kAlignment).offsets,
            packItems(items, kAlignment).offsets);
}

// Tests the shape of a training step: activations that live from the forward to
// the backward pass, which a stack packs without loss.
TEST(PackingTest, NestedRangesReachTheBound) {
  Items items;
  for (unsigned layer = 0; layer < 50; ++layer) {
    items.push_back({1000 + 64 * layer, layer, 200 - layer});
    items.push_back({4096, layer, layer + 1});
    items.push_back({8192, 199 - layer, 200 - layer});
  }
  Packing packing = packItems(items, kAlignment);
  EXPECT_TRUE(isSound(items, packing, 201));
  EXPECT_EQ(packing.bytes, packing.lowerBound);
}

// Tests empty lists and items without bytes.
TEST(PackingTest, NothingTakesNothing) {
  EXPECT_EQ(packItems({}, kAlignment).bytes, 0);
  Packing packing = packItems({{0, 0, 3}, {0, 1, 2}}, kAlignment);
  EXPECT_EQ(packing.bytes, 0);
  EXPECT_EQ(packing.offsets, (std::vector<int64_t>{0, 0}));
}

// Tests that a program of GPT-2's size and more is packed in seconds.
TEST(PackingTest, ScalesToLargePrograms) {
  std::mt19937 random(5);
  Items items = randomItems(10000, 10000, random);
  auto start = std::chrono::steady_clock::now();
  Packing packing = packItems(items, kAlignment);
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  EXPECT_GE(packing.bytes, packing.lowerBound);
  EXPECT_LT(seconds.count(), 30);
}

} // namespace
} // namespace zc
