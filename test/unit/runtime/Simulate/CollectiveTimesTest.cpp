#include "runtime/Simulate/CollectiveTimes.h"
#include "test/unit/runtime/Simulate/Clusters.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace zc {
namespace {

using namespace test;

constexpr double kLatency = 3e-6, kRate = 2e9, kBytes = 1 << 20;

std::vector<int> ranks(int count, int stride = 1) {
  std::vector<int> list(static_cast<size_t>(count));
  std::iota(list.begin(), list.end(), 0);
  for (int &each : list)
    each *= stride;
  return list;
}

double seconds(CollectiveWay way, plan::CollectiveKind kind, int count) {
  Cluster one = cluster({{"links", 1024, kRate, kLatency}});
  one.ways = {way};
  return costOnCluster(one, kind, plan::AUTO, placeOf(one, ranks(count)),
                       kBytes)
      .seconds(one);
}

TEST(CollectiveTimes, ClosedFormsOnOneLevel) {
  for (int n : {2, 3, 4, 8, 64, 512}) {
    const double part = double(n - 1) / n * kBytes / kRate,
                 whole = kBytes / kRate;
    const double rounds = std::ceil(std::log2(n));
    EXPECT_NEAR(seconds(CollectiveWay::Ring, plan::ALL_REDUCE, n),
                2 * (n - 1) * kLatency + 2 * part, 1e-15);
    EXPECT_NEAR(seconds(CollectiveWay::Ring, plan::ALL_GATHER, n),
                (n - 1) * kLatency + part, 1e-15);
    EXPECT_NEAR(seconds(CollectiveWay::Tree, plan::ALL_REDUCE, n),
                2 * rounds * kLatency + 2 * whole, 1e-15);
    EXPECT_NEAR(seconds(CollectiveWay::Doubling, plan::ALL_REDUCE, n),
                rounds * (kLatency + whole), 1e-15);
    EXPECT_NEAR(seconds(CollectiveWay::Rabenseifner, plan::ALL_REDUCE, n),
                2 * rounds * kLatency + 2 * part, 1e-15);
    EXPECT_NEAR(seconds(CollectiveWay::Ring, plan::ALL_TO_ALL, n),
                kLatency + part, 1e-15);
    EXPECT_NEAR(seconds(CollectiveWay::Ring, plan::BROADCAST, n),
                (n - 1) * kLatency + whole, 1e-15);
  }
}

TEST(CollectiveTimes, WhatWasTimedTakesThePlaceOfTheForm) {
  Cluster one = cluster({{"host", 8, kRate, kLatency}});
  one.measuredCollectives = {{plan::ALL_REDUCE, 2, 1 << 10, 1e-3},
                             {plan::ALL_REDUCE, 2, 1 << 20, 5e-3}};
  auto cost = [&](plan::CollectiveKind kind, int count, double bytes) {
    return costOnCluster(one, kind, plan::AUTO, placeOf(one, ranks(count)),
                         bytes);
  };
  const TransferCost known = cost(plan::ALL_REDUCE, 2, 1 << 20);
  EXPECT_NEAR(known.seconds(one), 5e-3, 1e-12);
  EXPECT_NEAR(known.latencySeconds, 1e-3, 1e-12);
  EXPECT_EQ(known.bytes[0], 1 << 20); // as without
  EXPECT_NEAR(cost(plan::ALL_REDUCE, 2, 512).seconds(one), 1e-3, 1e-12);
  EXPECT_NEAR(cost(plan::ALL_REDUCE, 2, (1 << 10) + 1023 * 512).seconds(one),
              3e-3, 1e-12);
  EXPECT_NEAR(cost(plan::ALL_REDUCE, 2, 1 << 21).seconds(one), 10e-3, 1e-12);
  // More ranks take at least as long; this kind was not timed.
  EXPECT_NEAR(cost(plan::ALL_REDUCE, 4, kBytes).seconds(one), 5e-3, 1e-12);
  const double form = 2 * 511 * kLatency + 2 * 511. / 512 * (1 << 26) / kRate;
  one.levels[0].size = 512;
  one.measuredCollectives[1].seconds = 1.1e-3;
  EXPECT_NEAR(cost(plan::ALL_REDUCE, 512, 1 << 26).seconds(one),
              std::max(form, 1.1e-3 * 64), 1e-9);
  EXPECT_EQ(cost(plan::ALL_GATHER, 2, kBytes).takenBytes(0), kBytes / 2);
}

/// A row for two ranks is no bound from above.
TEST(CollectiveTimes, MoreRanksTakeTheFormWhereItIsLonger) {
  Cluster one = cluster({{"host", 8, kRate, kLatency}});
  one.measuredCollectives = {{plan::ALL_REDUCE, 2, 1 << 20, 1e-4}};
  const TransferCost four = costOnCluster(one, plan::ALL_REDUCE, plan::AUTO,
                                          placeOf(one, ranks(4)), kBytes);
  EXPECT_NEAR(four.seconds(one), 6 * kLatency + 1.5 * kBytes / kRate, 1e-12);
}

TEST(CollectiveTimes, AFixedRingIsTimedWhereThereIsNoOtherWay) {
  Cluster one = cluster({{"host", 8, kRate, kLatency}});
  one.measuredCollectives = {{plan::ALL_REDUCE, 2, 1 << 20, 5e-3}};
  auto seconds = [&](plan::CollectiveAlgorithm algorithm) {
    return costOnCluster(one, plan::ALL_REDUCE, algorithm,
                         placeOf(one, ranks(2)), kBytes)
        .seconds(one);
  };
  const double form = 2 * kLatency + kBytes / kRate;
  EXPECT_NEAR(seconds(plan::AUTO), 5e-3, 1e-12);
  EXPECT_EQ(seconds(plan::RING), seconds(plan::AUTO));
  EXPECT_LT(seconds(plan::PARALLEL), form + 1e-9);
  one.ways = {CollectiveWay::Ring, CollectiveWay::Tree};
  EXPECT_NEAR(seconds(plan::RING), form, 1e-12);
}

TEST(CollectiveTimes, MessagesAreTimedToo) {
  Cluster both = cluster({{"host", 4, kRate, kLatency}, {"net", 8, 10, 10}});
  both.measuredCollectives = {{plan::SEND_RECEIVE, 2, 1 << 10, 1e-3},
                              {plan::SEND_RECEIVE, 2, 1 << 20, 5e-3}};
  EXPECT_NEAR(messageCost(both, 0, 3, 1 << 20).seconds(both), 5e-3, 1e-12);
  EXPECT_NEAR(messageCost(both, 0, 3, 0).seconds(both), 1e-3, 1e-12);
  EXPECT_DOUBLE_EQ(messageCost(both, 3, 4, 50).seconds(both), 10 + 5);
  // So are shifts among more ranks, of which each sends one.
  EXPECT_NEAR(costOnCluster(both, plan::SEND_RECEIVE, plan::AUTO,
                            placeOf(both, ranks(4)), 1 << 20)
                  .seconds(both),
              5e-3, 1e-12);
}

/// A level at which bytes take no time has all that was timed as latency.
TEST(CollectiveTimes, WhatWasTimedCountsWithoutARate) {
  Cluster one = cluster({{"host", 8, 0, 0}});
  one.measuredCollectives = {{plan::ALL_REDUCE, 2, 1 << 10, 1e-3},
                             {plan::ALL_REDUCE, 2, 1 << 20, 5e-3}};
  const TransferCost cost = costOnCluster(one, plan::ALL_REDUCE, plan::AUTO,
                                          placeOf(one, ranks(2)), 1 << 20);
  EXPECT_NEAR(cost.latencySeconds, 5e-3, 1e-12);
  EXPECT_NEAR(cost.seconds(one), 5e-3, 1e-12);
}

/// Eight devices a block, of 100 bytes/s inside and 10 outside.
Cluster twoLevels(CollectiveWay way) {
  Cluster both = cluster({{"node", 8, 100, 1}, {"net", 4096, 10, 10}});
  both.ways = {way};
  return both;
}

TEST(CollectiveTimes, RanksOfABlockShareWhatLeavesIt) {
  const Cluster both = twoLevels(CollectiveWay::Ring);
  const GroupPlace place = placeOf(both, ranks(32));
  EXPECT_EQ(place.members, std::vector<int64_t>({8, 32}));
  TransferCost cost =
      costOnCluster(both, plan::ALL_GATHER, plan::AUTO, place, 3200);
  // 31 hops, of which 3 cross; each rank's link carries an eighth of 3100.
  EXPECT_DOUBLE_EQ(cost.latencySeconds, 3 * 10 + 28);
  EXPECT_DOUBLE_EQ(cost.bytes[0], 3100);
  EXPECT_DOUBLE_EQ(cost.bytes[1], 3100 / 8.0);
  EXPECT_DOUBLE_EQ(cost.seconds(both), 58 + 3100 / 8.0 / 10);
  // One rank of each block: nothing stays inside.
  cost = costOnCluster(both, plan::ALL_GATHER, plan::AUTO,
                       placeOf(both, ranks(4, 8)), 400);
  EXPECT_DOUBLE_EQ(cost.latencySeconds, 30);
  EXPECT_DOUBLE_EQ(cost.bytes[0], 0);
  EXPECT_DOUBLE_EQ(cost.bytes[1], 300);
}

TEST(CollectiveTimes, HierarchyHasFewerSteps) {
  const Cluster both = twoLevels(CollectiveWay::Hierarchical);
  const TransferCost cost = costOnCluster(both, plan::ALL_REDUCE, plan::AUTO,
                                          placeOf(both, ranks(32)), 3200);
  // Inside 2 x 7, outside 2 x 3 steps; then an eighth of the bytes crosses.
  EXPECT_DOUBLE_EQ(cost.latencySeconds, 2 * (7 * 1 + 3 * 10));
  EXPECT_DOUBLE_EQ(cost.bytes[0], 2 * 3200 * 7 / 8.0);
  EXPECT_DOUBLE_EQ(cost.bytes[1], 2 * 400 * 3 / 4.0);
}

TEST(CollectiveTimes, TheQuickestWayIsTaken) {
  Cluster both = cluster({{"links", 1024, kRate, kLatency}});
  both.ways = {CollectiveWay::Ring, CollectiveWay::Tree};
  const GroupPlace place = placeOf(both, ranks(64));
  auto way = [&](plan::CollectiveKind kind, double bytes) {
    return methodOnCluster(both, kind, place, bytes).name();
  };
  EXPECT_EQ(way(plan::ALL_REDUCE, 1e3), "tree");
  EXPECT_EQ(way(plan::ALL_REDUCE, 1e9), "ring");
  // Trees only sum.
  both.ways = {CollectiveWay::Tree};
  EXPECT_EQ(way(plan::ALL_GATHER, 1e3), "ring");
}

/// A plan that fixes an algorithm has what a cluster with that way alone has,
/// in time, in bytes and by its protocols.
TEST(CollectiveTimes, FixedWaysAreThoseOfTheCluster) {
  struct Case {
    plan::CollectiveKind kind;
    plan::CollectiveAlgorithm fixed;
    CollectiveWay way;
  };
  // Doubling and its halves are one where nothing is reduced twice.
  const Case cases[] = {
      {plan::ALL_REDUCE, plan::RING, CollectiveWay::Ring},
      {plan::ALL_GATHER, plan::RING, CollectiveWay::Ring},
      {plan::REDUCE_SCATTER, plan::RING, CollectiveWay::Ring},
      {plan::BROADCAST, plan::RING, CollectiveWay::Ring},
      {plan::SEND_RECEIVE, plan::PARALLEL, CollectiveWay::Ring},
      {plan::ALL_REDUCE, plan::RECURSIVE_DOUBLING, CollectiveWay::Doubling},
      {plan::ALL_REDUCE, plan::RABENSEIFNER, CollectiveWay::Rabenseifner},
      {plan::ALL_GATHER, plan::RABENSEIFNER, CollectiveWay::Doubling}};
  for (const Case &each : cases) {
    Cluster both = twoLevels(each.way);
    both.protocols = {{"simple", each.way, 7, {4, 40}, {1, 1}},
                      {"ll", each.way, 2, {.5, 5}, {.5, .25}}};
    const GroupPlace place = placeOf(both, ranks(32));
    for (double bytes : {32., 3200., 1e6}) {
      const TransferCost fixed =
          costOnCluster(both, each.kind, each.fixed, place, bytes);
      const TransferCost own =
          costOnCluster(both, each.kind, plan::AUTO, place, bytes);
      SCOPED_TRACE(strCat(each.kind, " ", each.fixed, " of ", bytes));
      EXPECT_DOUBLE_EQ(fixed.latencySeconds, own.latencySeconds);
      for (size_t level : {size_t(0), size_t(1)})
        EXPECT_DOUBLE_EQ(fixed.takenBytes(level), own.takenBytes(level));
    }
  }
}

/// 7 of the 31 others are in a rank's own node.
TEST(CollectiveTimes, FixedRoundsDivideTheirBytes) {
  const Cluster both = twoLevels(CollectiveWay::Ring);
  const TransferCost cost = costOnCluster(
      both, plan::ALL_REDUCE, plan::PARALLEL, placeOf(both, ranks(32)), 3200);
  EXPECT_DOUBLE_EQ(cost.latencySeconds, 10);
  EXPECT_DOUBLE_EQ(cost.bytes[0], 7 * 3200);
  EXPECT_DOUBLE_EQ(cost.bytes[1], 24 * 3200);
}

TEST(CollectiveTimes, ARankThatSendsOnceSendsOverAllLevels) {
  const Cluster both = twoLevels(CollectiveWay::Ring);
  const TransferCost cost = costOnCluster(both, plan::REDUCE, plan::SEQUENTIAL,
                                          placeOf(both, ranks(32)), 3200);
  EXPECT_DOUBLE_EQ(cost.latencySeconds, 31 * 10);
  EXPECT_DOUBLE_EQ(cost.bytes[0], 3200);
  EXPECT_DOUBLE_EQ(cost.bytes[1], 3200);
}

/// Two rounds join four nodes, three the ranks of a node.
TEST(CollectiveTimes, ATreeOfRoundsSendsAllInEachRound) {
  const Cluster both = twoLevels(CollectiveWay::Ring);
  const TransferCost cost =
      costOnCluster(both, plan::BROADCAST, plan::RECURSIVE_DOUBLING,
                    placeOf(both, ranks(32)), 3200);
  EXPECT_DOUBLE_EQ(cost.bytes[0], 3 * 3200);
  EXPECT_DOUBLE_EQ(cost.bytes[1], 2 * 3200);
}

/// Two protocols of rings on two levels, and one of trees.
Cluster withProtocols() {
  Cluster both = cluster({{"node", 8, 100, 1}, {"net", 4096, 10, 10}});
  both.ways = {CollectiveWay::Ring, CollectiveWay::Tree};
  both.protocols = {{"simple", CollectiveWay::Ring, 7, {4, 40}, {1, 1}},
                    {"ll", CollectiveWay::Ring, 2, {.5, 5}, {.5, .25}},
                    {"ll", CollectiveWay::Tree, 3, {.5, 8}, {.2, .1}}};
  return both;
}

/// Starts, messages by their level, and bytes at the protocol's share: by hand.
TEST(CollectiveTimes, ProtocolsHaveTheirLatenciesAndShares) {
  const Cluster both = withProtocols();
  auto cost = [&](plan::CollectiveKind kind, int count, double bytes,
                  plan::CollectiveAlgorithm algorithm = plan::AUTO) {
    return costOnCluster(both, kind, algorithm, placeOf(both, ranks(count)),
                         bytes);
  };
  auto method = [&](plan::CollectiveKind kind, int count, double bytes) {
    return methodOnCluster(both, kind, placeOf(both, ranks(count)), bytes)
        .name();
  };
  // Inside a node, of eight: 7 messages. LL until its half of the rate costs
  // more than 5 s to start and 7 x 3.5 s of latency.
  const double change = 100 * (5 + 7 * 3.5) * 8 / 7;
  for (double bytes : {8., .99 * change, 1.01 * change, 1e6}) {
    const bool isSmall = bytes < change;
    EXPECT_EQ(method(plan::ALL_GATHER, 8, bytes),
              isSmall ? "ring (ll)" : "ring (simple)");
    const double sent = bytes * 7 / 8 / 100;
    EXPECT_NEAR(cost(plan::ALL_GATHER, 8, bytes).seconds(both),
                isSmall ? 2 + 7 * .5 + 2 * sent : 7 + 7 * 4 + sent, 1e-9);
  }
  // Four nodes: 3 of 31 messages cross, by 8 ranks beside one another.
  const TransferCost four = cost(plan::ALL_GATHER, 32, 320);
  EXPECT_DOUBLE_EQ(four.latencySeconds, 2 + 3 * 5 + 28 * .5);
  EXPECT_DOUBLE_EQ(four.bytes[1], 310 / 8.0);
  EXPECT_DOUBLE_EQ(four.takenBytes(0), 310 * 2);
  EXPECT_DOUBLE_EQ(four.takenBytes(1), 310 / 8.0 * 4);
  EXPECT_DOUBLE_EQ(four.seconds(both), 31 + 310 / 8.0 * 4 / 10);
  // A small sum is a tree's: along 7 ranks of a node, and log2 of the nodes.
  EXPECT_EQ(method(plan::ALL_REDUCE, 4096, 8), "tree (ll)");
  EXPECT_NEAR(cost(plan::ALL_REDUCE, 4096, 0).seconds(both),
              3 + 2 * (7 * .5 + 9 * 8), 1e-9);
}

/// A ring that the plan fixes has the ring's protocols; what the file gives
/// none for has its levels' latencies and rates.
TEST(CollectiveTimes, OtherWaysHaveTheLevels) {
  Cluster both = withProtocols();
  const GroupPlace place = placeOf(both, ranks(8));
  auto seconds = [&](plan::CollectiveKind kind,
                     plan::CollectiveAlgorithm algorithm) {
    return costOnCluster(both, kind, algorithm, place, 800).seconds(both);
  };
  EXPECT_NEAR(seconds(plan::ALL_GATHER, plan::RING), 2 + 7 * .5 + 2 * 7, 1e-9);
  EXPECT_NEAR(seconds(plan::ALL_TO_ALL, plan::AUTO), 1 + 7, 1e-9);
  EXPECT_NEAR(messageCost(both, 0, 1, 100).seconds(both), 2, 1e-9);
  both.ways = {CollectiveWay::Doubling};
  EXPECT_NEAR(seconds(plan::ALL_REDUCE, plan::AUTO), 3 * (1 + 8), 1e-9);
}

TEST(CollectiveTimes, MessagesTakeTheInnermostLevelTheyCan) {
  const Cluster both = twoLevels(CollectiveWay::Ring);
  EXPECT_DOUBLE_EQ(messageCost(both, 1, 6, 50).seconds(both), 1 + .5);
  EXPECT_DOUBLE_EQ(messageCost(both, 7, 8, 50).seconds(both), 10 + 5);
}

} // namespace
} // namespace zc
