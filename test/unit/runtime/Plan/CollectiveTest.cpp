#include "runtime/Plan/Collective/Schedule.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>

namespace zc {
namespace {

/// A rank's memory while its schedule is played through.
struct Played {
  std::vector<float> source, destination, workspace;
  uint64_t sent = 0;

  float *at(Span span) {
    auto &data = span.place == Place::Source        ? source
                 : span.place == Place::Destination ? destination
                                                    : workspace;
    EXPECT_GE(span.begin, 0);
    EXPECT_LE(span.begin + span.count, int64_t(data.size()));
    return data.data() + span.begin;
  }
  void apply(const std::vector<LocalOp> &ops) {
    for (const LocalOp &op : ops) {
      ASSERT_EQ(op.into.count, op.from.count);
      const float *from = at(op.from);
      float *into = at(op.into);
      for (int64_t i = 0; i < op.into.count; ++i)
        into[i] = op.reduces ? into[i] + from[i] : from[i];
    }
  }
};

int64_t sourceElements(const CollectiveShape &shape) {
  bool part = shape.kind == plan::ALL_GATHER || shape.kind == plan::GATHER;
  return part ? shape.elements / shape.ranks : shape.elements;
}
int64_t destinationElements(const CollectiveShape &shape) {
  bool part = shape.kind == plan::REDUCE_SCATTER || shape.kind == plan::SCATTER;
  return part ? shape.elements / shape.ranks : shape.elements;
}

/// Not a number that adds up exactly: the order of additions shows.
float valueAt(int64_t rank, int64_t index) {
  return 1.0f / float(3 + rank * 7 + index);
}

/// Sends every message of a round before any is received.
void playRound(std::vector<Played> &ranks, const std::vector<Schedule> &all,
               size_t round, int64_t elementBytes) {
  std::map<std::pair<int64_t, int64_t>, std::vector<std::vector<float>>> mail;
  for (size_t r = 0; r < ranks.size(); ++r)
    for (const Message &message : all[r].rounds[round].messages)
      if (message.isSend) {
        ASSERT_NE(message.peer, int64_t(r));
        const float *data = ranks[r].at(message.span);
        mail[{int64_t(r), message.peer}].emplace_back(
            data, data + message.span.count);
        ranks[r].sent += uint64_t(message.span.count * elementBytes);
      }
  for (size_t r = 0; r < ranks.size(); ++r)
    for (const Message &message : all[r].rounds[round].messages)
      if (!message.isSend) {
        auto &box = mail[{message.peer, int64_t(r)}];
        ASSERT_FALSE(box.empty()) << "nothing was sent";
        ASSERT_EQ(int64_t(box.front().size()), message.span.count);
        std::copy(box.front().begin(), box.front().end(),
                  ranks[r].at(message.span));
        box.erase(box.begin());
      }
  for (const auto &[pair, box] : mail)
    EXPECT_TRUE(box.empty()) << "a message was not received";
  for (size_t r = 0; r < ranks.size(); ++r)
    ranks[r].apply(all[r].rounds[round].after);
}

/// Plays a collective and holds its messages against its closed forms.
std::vector<Played> play(const CollectiveShape &shape) {
  const CollectiveCost cost = costOf(shape);
  std::vector<Played> ranks(shape.ranks);
  std::vector<Schedule> all;
  for (int64_t r = 0; r < shape.ranks; ++r) {
    for (int64_t i = 0; i < sourceElements(shape); ++i)
      ranks[r].source.push_back(valueAt(r, i));
    ranks[r].destination.assign(destinationElements(shape), -1);
    ranks[r].workspace.assign(cost.workspaceBytes / shape.elementBytes, -2);
    all.push_back(scheduleOf(shape, r));
    EXPECT_EQ(all[r].rounds.size(), cost.steps);
    ranks[r].apply(all[r].before);
  }
  for (size_t round = 0; round < cost.steps; ++round)
    playRound(ranks, all, round, shape.elementBytes);
  uint64_t most = 0;
  for (const Played &rank : ranks)
    most = std::max(most, rank.sent);
  EXPECT_EQ(most, cost.sentBytes);
  for (int64_t r = 0; r < shape.ranks; ++r)
    for (int64_t i = 0; i < sourceElements(shape); ++i)
      EXPECT_EQ(ranks[r].source[i], valueAt(r, i)) << "the source changed";
  return ranks;
}

float sumAt(int64_t ranks, int64_t index) {
  double sum = 0;
  for (int64_t r = 0; r < ranks; ++r)
    sum += valueAt(r, index);
  return float(sum);
}

constexpr plan::CollectiveAlgorithm kAlgorithms[] = {plan::AUTO,
                                                     plan::RING,
                                                     plan::RECURSIVE_DOUBLING,
                                                     plan::RABENSEIFNER,
                                                     plan::SEQUENTIAL,
                                                     plan::PARALLEL,
                                                     plan::PARAMETER_SERVER};

class Collectives : public ::testing::TestWithParam<plan::CollectiveAlgorithm> {
protected:
  /// Calls `body` with shapes of a kind over 1 to 9 ranks and odd counts.
  template <typename Body>
  void each(plan::CollectiveKind kind, bool divided, const Body &body) {
    for (int64_t ranks = 1; ranks <= 9; ++ranks)
      for (int64_t count : {1, 5, 7, 16, 37}) {
        CollectiveShape shape{kind, GetParam(), ranks,
                              divided ? count * ranks : count};
        SCOPED_TRACE("ranks " + std::to_string(ranks) + ", count " +
                     std::to_string(count));
        body(shape, count);
      }
  }
};
INSTANTIATE_TEST_SUITE_P(Algorithms, Collectives,
                         ::testing::ValuesIn(kAlgorithms));

TEST_P(Collectives, AllReduceGivesAllRanksTheSameBits) {
  each(plan::ALL_REDUCE, false, [](const CollectiveShape &shape, int64_t) {
    auto ranks = play(shape);
    for (int64_t i = 0; i < shape.elements; ++i) {
      EXPECT_NEAR(ranks[0].destination[i], sumAt(shape.ranks, i), 1e-6);
      for (const Played &rank : ranks)
        EXPECT_EQ(rank.destination[i], ranks[0].destination[i]);
    }
  });
}

TEST_P(Collectives, AllGatherAndReduceScatterAreItsHalves) {
  each(plan::ALL_GATHER, true, [](const CollectiveShape &shape, int64_t n) {
    for (const Played &rank : play(shape))
      for (int64_t i = 0; i < shape.elements; ++i)
        EXPECT_EQ(rank.destination[i], valueAt(i / n, i % n));
  });
  each(plan::REDUCE_SCATTER, true, [](const CollectiveShape &shape, int64_t n) {
    auto ranks = play(shape);
    for (int64_t r = 0; r < shape.ranks; ++r)
      for (int64_t i = 0; i < n; ++i)
        EXPECT_NEAR(ranks[r].destination[i], sumAt(shape.ranks, r * n + i),
                    1e-6);
  });
}

TEST_P(Collectives, AllToAllTransposes) {
  each(plan::ALL_TO_ALL, true, [](const CollectiveShape &shape, int64_t n) {
    auto ranks = play(shape);
    for (int64_t r = 0; r < shape.ranks; ++r)
      for (int64_t i = 0; i < shape.elements; ++i)
        EXPECT_EQ(ranks[r].destination[i], valueAt(i / n, r * n + i % n));
  });
}

TEST_P(Collectives, RootedOnesWorkFromEveryRoot) {
  each(plan::BROADCAST, false, [](CollectiveShape shape, int64_t) {
    for (shape.root = 0; shape.root < shape.ranks; ++shape.root)
      for (const Played &rank : play(shape))
        for (int64_t i = 0; i < shape.elements; ++i)
          EXPECT_EQ(rank.destination[i], valueAt(shape.root, i));
  });
  each(plan::REDUCE, false, [](CollectiveShape shape, int64_t) {
    for (shape.root = 0; shape.root < shape.ranks; ++shape.root) {
      auto ranks = play(shape);
      for (int64_t i = 0; i < shape.elements; ++i)
        EXPECT_NEAR(ranks[shape.root].destination[i], sumAt(shape.ranks, i),
                    1e-6);
    }
  });
  each(plan::SCATTER, true, [](CollectiveShape shape, int64_t n) {
    for (shape.root = 0; shape.root < shape.ranks; ++shape.root) {
      auto ranks = play(shape);
      for (int64_t r = 0; r < shape.ranks; ++r)
        for (int64_t i = 0; i < n; ++i)
          EXPECT_EQ(ranks[r].destination[i], valueAt(shape.root, r * n + i));
    }
  });
  each(plan::GATHER, true, [](CollectiveShape shape, int64_t n) {
    for (shape.root = 0; shape.root < shape.ranks; ++shape.root) {
      auto ranks = play(shape);
      for (int64_t i = 0; i < shape.elements; ++i)
        EXPECT_EQ(ranks[shape.root].destination[i], valueAt(i / n, i % n));
    }
  });
}

TEST_P(Collectives, SendReceiveShiftsRoundTheAxis) {
  each(plan::SEND_RECEIVE, false, [](CollectiveShape shape, int64_t) {
    for (int64_t shift : {1, 2, -1, 9}) {
      shape.shift = shift;
      auto ranks = play(shape);
      for (int64_t r = 0; r < shape.ranks; ++r) {
        int64_t from = ((r - shift) % shape.ranks + shape.ranks) % shape.ranks;
        for (int64_t i = 0; i < shape.elements; ++i)
          EXPECT_EQ(ranks[r].destination[i], valueAt(from, i));
      }
    }
  });
}

/// The rank exchanges `sent` elements in a round with that at `offset`.
void expectExchange(const Round &round, int64_t rank, int64_t offset,
                    int64_t sent) {
  EXPECT_EQ(round.messages.size(), 2u);
  for (const Message &message : round.messages) {
    EXPECT_EQ(message.peer, rank ^ offset);
    EXPECT_EQ(message.span.count, sent);
  }
}

/// Requirement B-20, N-21: by recursive doubling each of 8 ranks exchanges all
/// with the ranks at offsets 1, 2, 4; by Rabenseifner's halving and doubling it
/// exchanges halves with that at 4, quarters at 2, eighths at 1, and back.
TEST(CollectiveSchedules, PartnersAreAtPowersOfTwo) {
  const int64_t count = 64, ranks = 8;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    auto rounds = [&](plan::CollectiveAlgorithm algorithm) {
      return scheduleOf({plan::ALL_REDUCE, algorithm, ranks, count}, rank)
          .rounds;
    };
    auto doubling = rounds(plan::RECURSIVE_DOUBLING);
    ASSERT_EQ(doubling.size(), 3u);
    for (size_t i = 0; i < 3; ++i)
      expectExchange(doubling[i], rank, 1 << i, count);
    auto halving = rounds(plan::RABENSEIFNER);
    ASSERT_EQ(halving.size(), 6u);
    for (size_t i = 0; i < 6; ++i) {
      int64_t offset = i < 3 ? 4 >> i : 1 << (i - 3);
      expectExchange(halving[i], rank, offset, count / ranks * offset);
    }
  }
}

CollectiveCost allReduceOf(plan::CollectiveAlgorithm algorithm, int64_t ranks,
                           int64_t elements) {
  return costOf({plan::ALL_REDUCE, algorithm, ranks, elements});
}

// Steps and bytes as the papers have them (requirements B-17 to B-21, N-21).
TEST(CollectiveCosts, EqualThePapers) {
  for (int64_t ranks : {2, 4, 8, 64, 1024}) {
    const int64_t count = 1024 * 3;
    const uint64_t n = count * 4, others = ranks - 1;
    const uint32_t log = uint32_t(floorLog2(ranks));
    CollectiveCost ring = allReduceOf(plan::RING, ranks, count);
    EXPECT_EQ(ring.steps, 2 * others);
    EXPECT_EQ(ring.sentBytes, 2 * others * n / ranks);
    CollectiveCost doubling =
        allReduceOf(plan::RECURSIVE_DOUBLING, ranks, count);
    EXPECT_EQ(doubling.steps, log);
    EXPECT_EQ(doubling.sentBytes, log * n);
    CollectiveCost halving = allReduceOf(plan::RABENSEIFNER, ranks, count);
    EXPECT_EQ(halving.steps, 2 * log);
    EXPECT_EQ(halving.sentBytes, 2 * others * n / ranks);
    EXPECT_EQ(allReduceOf(plan::SEQUENTIAL, ranks, count).steps, ranks);
    EXPECT_EQ(allReduceOf(plan::PARALLEL, ranks, count).steps, 1u);
    EXPECT_EQ(allReduceOf(plan::PARALLEL, ranks, count).sentBytes, others * n);
    EXPECT_EQ(allReduceOf(plan::PARAMETER_SERVER, ranks, count).steps, 2u);
  }
}

TEST(CollectiveCosts, StateThePreStep) {
  CollectiveCost cost = allReduceOf(plan::RABENSEIFNER, 6, 400);
  EXPECT_EQ(cost.steps, 2u * 2 + 2);
  EXPECT_EQ(cost.sentBytes, 2u * 3 * 1600 / 4 + 1600);
  EXPECT_EQ(allReduceOf(plan::RECURSIVE_DOUBLING, 6, 400).steps, 2u + 2);
}

TEST(CollectiveCosts, OneRankSendsNothing) {
  for (plan::CollectiveAlgorithm algorithm : kAlgorithms)
    EXPECT_EQ(allReduceOf(algorithm, 1, 100).sentBytes, 0u);
}

} // namespace
} // namespace zc
