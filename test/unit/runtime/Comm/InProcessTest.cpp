#include "runtime/Comm/InProcess/InProcess.h"
#include "runtime/Base/Bfloat16.h"
#include "runtime/Base/Float16.h"

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <ctime>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <mutex>
#include <thread>

namespace zc {
namespace {

using Rank = std::function<void(Communicator &)>;

/// Runs `body` on every rank of a world.
void onRanks(int size, const Rank &body) {
  auto ranks = createInProcessRanks(size);
  std::vector<std::thread> threads;
  for (auto &rank : ranks)
    threads.emplace_back([&] { body(rank->all()); });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(InProcessRanks, ANanIsTheLargestWhoeverHasIt) {
  const int p = 3;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (int owner = 0; owner < p; ++owner)
    onRanks(p, [&](Communicator &comm) {
      bool mine = comm.rank() == owner;
      float data[] = {mine ? nan : 1.0f, float(comm.rank())};
      uint16_t small[] = {floatToBfloat16(data[0]), floatToBfloat16(data[1])};
      ASSERT_TRUE(
          comm.allReduce(data, 2, ElementType::F32, Reduction::Max).ok());
      ASSERT_TRUE(
          comm.allReduce(small, 2, ElementType::BF16, Reduction::Max).ok());
      EXPECT_TRUE(std::isnan(data[0])) << "of rank " << owner;
      EXPECT_TRUE(std::isnan(bfloat16ToFloat(small[0]))) << "of rank " << owner;
      EXPECT_EQ(data[1], float(p - 1));
      EXPECT_EQ(bfloat16ToFloat(small[1]), float(p - 1));
    });
}

std::chrono::nanoseconds ownTime() {
  timespec time;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) +
         std::chrono::nanoseconds(time.tv_nsec);
}

/// A rank is awake for a moment, and then takes no more of a processor than one
/// that looks around after each rest of 2 milliseconds, however long it waits.
/// The cost of a rest depends on the machine and its load: the other rank,
/// which rests as often meanwhile, tells.
TEST(InProcessRanks, WhoeverWaitsForLongSleeps) {
  std::chrono::nanoseconds used{}, rested{};
  onRanks(2, [&](Communicator &comm) {
    const auto before = ownTime();
    if (comm.rank() == 0) {
      const auto end =
          std::chrono::steady_clock::now() + std::chrono::seconds(3);
      while (std::chrono::steady_clock::now() < end) {
        std::mutex mutex;
        std::condition_variable never;
        std::unique_lock<std::mutex> lock(mutex);
        never.wait_for(lock, std::chrono::milliseconds(2));
      }
      rested = ownTime() - before;
    }
    float value = 1;
    ASSERT_TRUE(
        comm.allReduce(&value, 1, ElementType::F32, Reduction::Sum).ok());
    EXPECT_EQ(value, 2);
    if (comm.rank() == 1)
      used = ownTime() - before;
  });
  // 50 microseconds awake in each rest would be 75 milliseconds more.
  EXPECT_LT(used - rested, std::chrono::milliseconds(40));
}

uint16_t narrowTo(ElementType type, float value) {
  return type == ElementType::F16 ? floatToHalf(value) : floatToBfloat16(value);
}

float widen(ElementType type, uint16_t bits) {
  return type == ElementType::F16 ? halfToFloat(bits) : bfloat16ToFloat(bits);
}

TEST(InProcessRanks, EveryAlgorithmAddsAndCountsAlike) {
  for (int p = 1; p <= 9; ++p)
    onRanks(p, [&](Communicator &comm) {
      for (int algorithm = 0; algorithm <= plan::PARAMETER_SERVER; ++algorithm)
        for (ElementType type :
             {ElementType::F32, ElementType::BF16, ElementType::F16}) {
          const int64_t count = 13;
          CollectiveLaunch launch;
          launch.shape = {plan::ALL_REDUCE,
                          plan::CollectiveAlgorithm(algorithm), p, count,
                          kernels::elementBytes(type)};
          launch.type = type;
          std::vector<float> floats(count);
          std::vector<uint16_t> halves(count);
          for (int64_t i = 0; i < count; ++i) {
            floats[i] = float(comm.rank() + i);
            halves[i] = narrowTo(type, floats[i]);
          }
          void *data = type == ElementType::F32
                           ? static_cast<void *>(floats.data())
                           : halves.data();
          launch.source = launch.destination = data;
          uint64_t before = comm.sentBytes();
          auto collective = comm.prepare(launch);
          ASSERT_TRUE(collective.ok());
          ASSERT_TRUE((*collective)->run().ok());
          for (int64_t i = 0; i < count; ++i) {
            float found =
                type == ElementType::F32 ? floats[i] : widen(type, halves[i]);
            EXPECT_EQ(found, float(p * (p - 1) / 2 + p * i))
                << p << " ranks, algorithm " << algorithm;
          }
          int64_t sent = int64_t(comm.sentBytes() - before);
          ASSERT_TRUE(
              comm.allReduce(&sent, 1, ElementType::I64, Reduction::Max).ok());
          EXPECT_EQ(uint64_t(sent), costOf(launch.shape).sentBytes);
        }
    });
}

TEST(InProcessRanks, BarrierHoldsBackTheFast) {
  std::atomic<int> arrived{0};
  onRanks(4, [&](Communicator &comm) {
    for (int round = 1; round <= 20; ++round) {
      ++arrived;
      ASSERT_TRUE(comm.barrier().ok());
      EXPECT_GE(arrived.load(), 4 * round);
      ASSERT_TRUE(comm.barrier().ok());
    }
  });
}

TEST(InProcessRanks, Bfloat16IsAddedInFloat32) {
  onRanks(2, [&](Communicator &comm) {
    uint16_t data[] = {0x3f80, 0x4049}; // 1, 3.140625
    ASSERT_TRUE(
        comm.allReduce(data, 2, ElementType::BF16, Reduction::Sum).ok());
    EXPECT_EQ(data[0], 0x4000); // 2
    EXPECT_EQ(data[1], 0x40c9); // 6.28125
  });
}

TEST(InProcessRanks, Float16IsAddedInFloat32AndOverflows) {
  onRanks(2, [&](Communicator &comm) {
    uint16_t data[] = {0x3c00, 0x7bff, 0xfc00}; // 1, 65504, -infinity
    ASSERT_TRUE(comm.allReduce(data, 3, ElementType::F16, Reduction::Sum).ok());
    EXPECT_EQ(data[0], 0x4000); // 2
    EXPECT_EQ(data[1], 0x7c00); // infinity
    EXPECT_EQ(data[2], 0xfc00);
  });
}

TEST(InProcessRanks, AMissingRankIsNamed) {
  auto ranks = createInProcessRanks(2);
  ranks[0]->setTimeout(std::chrono::milliseconds(20));
  Status status = ranks[0]->all().barrier();
  EXPECT_EQ(status.code(), StatusCode::DeadlineExceeded);
  EXPECT_NE(status.message().find("for rank 1, which does not answer"),
            std::string::npos)
      << status.message();
}

/// Runs `body` on each world, in threads of their own.
std::vector<Status> onWorlds(std::vector<std::unique_ptr<World>> &worlds,
                             const std::function<Status(World &)> &body) {
  std::vector<Status> statuses(worlds.size());
  std::vector<std::thread> threads;
  for (auto &world : worlds)
    threads.emplace_back([&] { statuses[world->rank()] = body(*world); });
  for (std::thread &thread : threads)
    thread.join();
  return statuses;
}

TEST(InProcessRanks, ARankThatADeviceWaitsForIsNamed) {
  auto ranks = createInProcessRanks(3);
  std::vector<Status> statuses(3);
  std::vector<std::thread> threads;
  for (int r : {0, 2})
    threads.emplace_back([&, r] {
      ranks[size_t(r)]->setTimeout(std::chrono::milliseconds(200));
      statuses[size_t(r)] =
          ranks[size_t(r)]->waitFor([]() -> Result<bool> { return false; });
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_NE(statuses[0].message().find(
                "waited 0.2 s in a collective on the device for rank 1, which "
                "does not answer (--timeout)"),
            std::string::npos)
      << statuses[0].message();
  EXPECT_EQ(statuses[2].code(), StatusCode::Cancelled) << statuses[2].message();
}

TEST(InProcessRanks, OneMessageNamesTheRankThatKeepsAll) {
  auto ranks = createInProcessRanks(5);
  for (auto &rank : ranks)
    rank->setTimeout(std::chrono::milliseconds(50));
  // Rank 3 is missing; in a ring most others wait for others.
  std::vector<float> data[5];
  auto statuses = onWorlds(ranks, [&](World &world) {
    auto &mine = data[world.rank()];
    mine.resize(100);
    return world.rank() == 3
               ? Status()
               : world.all().allReduce(mine.data(), 100, ElementType::F32,
                                       Reduction::Sum);
  });
  int told = 0;
  for (int r : {0, 1, 2, 4}) {
    ASSERT_FALSE(statuses[r].ok());
    if (statuses[r].code() == StatusCode::Cancelled)
      continue;
    ++told;
    EXPECT_NE(statuses[r].message().find("for rank 3"), std::string::npos)
        << statuses[r].message();
  }
  EXPECT_EQ(told, 1);
}

TEST(InProcessRanks, TheFailureOfOneEndsTheWaitingOfAll) {
  auto ranks = createInProcessRanks(3);
  auto statuses = onWorlds(ranks, [&](World &world) {
    if (world.rank() == 1) {
      return world.fail(Status(StatusCode::IoError, "the disk is full"));
    }
    return world.all().barrier();
  });
  EXPECT_EQ(statuses[0].code(), StatusCode::Cancelled);
  EXPECT_EQ(statuses[1].message(), "rank 1: the disk is full");
  EXPECT_EQ(statuses[2].code(), StatusCode::Cancelled);
}

TEST(InProcessRanks, AgreeOnWhoTellsOfAFailure) {
  auto ranks = createInProcessRanks(4);
  auto failing = [&](std::set<int> which) {
    return onWorlds(ranks, [&](World &world) {
      return world.agree(which.count(world.rank())
                             ? Status(StatusCode::NotFound, "no such file")
                             : Status());
    });
  };
  for (const Status &status : failing({}))
    EXPECT_TRUE(status.ok());
  auto some = failing({1, 3});
  EXPECT_EQ(some[1].message(), "rank 1: no such file");
  for (int r : {0, 2, 3})
    EXPECT_EQ(some[r].code(), StatusCode::Cancelled);
  ranks = createInProcessRanks(4);
  EXPECT_EQ(failing({0, 1, 2, 3})[0].message(), "no such file");
}

TEST(InProcessRanks, GroupsDoNotMix) {
  auto ranks = createInProcessRanks(4);
  auto statuses = onWorlds(ranks, [](World &world) {
    int r = world.rank();
    auto row = world.group(r < 2 ? std::vector{0, 1} : std::vector{2, 3}, 1);
    auto column = world.group(r % 2 ? std::vector{1, 3} : std::vector{0, 2}, 2);
    int32_t inRow = r, inColumn = r;
    ZC_RETURN_IF_ERROR(
        row->allReduce(&inRow, 1, ElementType::I32, Reduction::Sum));
    ZC_RETURN_IF_ERROR(
        column->allReduce(&inColumn, 1, ElementType::I32, Reduction::Sum));
    EXPECT_EQ(inRow, r < 2 ? 1 : 5);
    EXPECT_EQ(inColumn, r % 2 ? 4 : 2);
    EXPECT_EQ(row->sentBytes(), 4u);
    return Status();
  });
  for (const Status &status : statuses)
    EXPECT_TRUE(status.ok()) << status.message();
}

TEST(InProcessRanks, ThoseInDifferentCollectivesAreTold) {
  auto ranks = createInProcessRanks(2);
  auto statuses = onWorlds(ranks, [](World &world) {
    float data[8] = {};
    return world.all().allReduce(data, world.rank() ? 8 : 4, ElementType::F32,
                                 Reduction::Sum);
  });
  int told = 0;
  for (const Status &status : statuses) {
    EXPECT_FALSE(status.ok());
    told += status.message().find("not in the same collective") !=
            std::string::npos;
  }
  EXPECT_GE(told, 1);
}

} // namespace
} // namespace zc
