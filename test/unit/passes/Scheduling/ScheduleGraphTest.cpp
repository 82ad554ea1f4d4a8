//===- ScheduleGraphTest.cpp ----------------------------------------------===//
#include "passes/Scheduling/ScheduleGraph.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>

namespace zc {
namespace {

using Order = std::vector<unsigned>;

/// A random program: every node reads some earlier results and writes one.
struct RandomProgram {
  ScheduleGraph graph;
  std::vector<std::vector<unsigned>> reads; // buffers, per node
  std::vector<unsigned> writes;
  std::vector<std::pair<unsigned, unsigned>> edges; // of tryOrder

  RandomProgram(unsigned numNodes, unsigned window, std::mt19937 &random) {
    writes.push_back(graph.addBuffer(64, /*pinned=*/false)); // an input
    for (unsigned node = 0; node < numNodes; ++node) {
      std::vector<unsigned> from;
      for (unsigned i = random() % 3; i > 0; --i)
        from.push_back(
            writes[writes.size() - 1 -
                   random() % std::min<size_t>(window, writes.size())]);
      unsigned result =
          graph.addBuffer(64 * (random() % 8), /*pinned=*/random() % 16 == 0);
      graph.addNode(from, {result}, random() % 4 == 0 ? 64 : 0);
      reads.push_back(from);
      writes.push_back(result);
    }
  }

  void addOrderEdges(unsigned count, std::mt19937 &random) {
    for (unsigned i = 0; i < count; ++i) {
      unsigned before = random() % reads.size(), node = random() % reads.size();
      if (before != node && graph.tryOrder({before}, node))
        edges.push_back({before, node});
    }
  }

  bool isLegal(const Order &order) const {
    std::vector<int> position(reads.size(), -1);
    for (unsigned i = 0; i < order.size(); ++i) {
      if (position[order[i]] >= 0)
        return false;
      position[order[i]] = static_cast<int>(i);
    }
    for (unsigned node = 0; node < reads.size(); ++node)
      for (unsigned buffer : reads[node])
        if (buffer != 0 && position[buffer - 1] > position[node])
          return false; // buffer b is what node b - 1 writes
    return std::all_of(edges.begin(), edges.end(), [&](auto edge) {
      return position[edge.first] < position[edge.second];
    });
  }
};

// Tests that every order is a permutation that respects all edges, and never
// takes more memory than keeping the order of the program, where that is legal.
TEST(ScheduleGraphTest, OrdersAreLegalAndNeverWorse) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    RandomProgram program(1 + random() % 40, 8, random);
    if (round % 2)
      program.addOrderEdges(10, random);
    Order order = program.graph.order();
    ASSERT_EQ(order.size(), program.reads.size());
    EXPECT_TRUE(program.isLegal(order)) << "round " << round;
    Order original(order.size());
    std::iota(original.begin(), original.end(), 0);
    if (program.isLegal(original)) {
      EXPECT_LE(program.graph.peakBytes(order),
                program.graph.peakBytes(original));
    }
  }
}

// Tests that an edge that would close a cycle is refused and changes nothing.
TEST(ScheduleGraphTest, RefusesCycles) {
  ScheduleGraph graph;
  unsigned a = graph.addBuffer(64, false), b = graph.addBuffer(64, true);
  unsigned first = graph.addNode({}, {a});
  unsigned second = graph.addNode({a}, {b});
  EXPECT_FALSE(graph.tryOrder({second}, first));
  EXPECT_TRUE(graph.tryOrder({first}, second));
  EXPECT_EQ(graph.order(), (Order{first, second}));
}

// Tests the peak by hand: inputs are there from the start, scratch only while
// its node runs, results that nobody reads go at once, pinned ones stay.
TEST(ScheduleGraphTest, CountsLiveBytes) {
  ScheduleGraph graph;
  unsigned input = graph.addBuffer(100, false);
  unsigned a = graph.addBuffer(10, false), b = graph.addBuffer(20, true);
  unsigned unread = graph.addBuffer(5, false);
  graph.addNode({input}, {a, unread}, /*scratch=*/1000);
  graph.addNode({a}, {b});
  EXPECT_EQ(graph.peakBytes({0, 1}), 1115);
  EXPECT_EQ(graph.peakBytes({0}), 1115);
}

// Tests that updates come right after their gradients, although a scalar that
// they need then lives at the peak.
TEST(ScheduleGraphTest, UpdatesEarlyForAFewBytes) {
  constexpr int64_t kMega = 1 << 20, kScalar = 64;
  ScheduleGraph graph;
  unsigned saved = graph.addBuffer(3 * kMega, true);
  unsigned gradients[] = {graph.addBuffer(kMega, false),
                          graph.addBuffer(kMega, false)};
  unsigned count = graph.addBuffer(kScalar, false);
  unsigned rate = graph.addBuffer(kScalar, false);
  graph.addNode({}, {saved}, /*scratch=*/5 * kMega);
  graph.addNode({saved}, {gradients[0]});
  unsigned later = graph.addNode({saved}, {gradients[1]});
  graph.addNode({}, {count});
  graph.addNode({count}, {rate});
  unsigned updates[2];
  for (int i = 0; i < 2; ++i)
    updates[i] = graph.addNode({gradients[i], rate},
                               {graph.addBuffer(0, /*pinned=*/true)});
  Order order = graph.order();
  auto position = [&](unsigned node) {
    return std::find(order.begin(), order.end(), node) - order.begin();
  };
  EXPECT_LT(position(updates[0]), position(later));
}

// Tests that a program of GPT-2's size and more is ordered in no time.
TEST(ScheduleGraphTest, ScalesToLargePrograms) {
  std::mt19937 random(2);
  RandomProgram program(20000, 200, random);
  auto start = std::chrono::steady_clock::now();
  Order order = program.graph.order();
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  EXPECT_TRUE(program.isLegal(order));
  EXPECT_LT(seconds.count(), 10);
}

} // namespace
} // namespace zc
