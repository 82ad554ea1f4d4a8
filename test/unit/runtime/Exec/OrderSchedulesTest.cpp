// Orders of every schedule, run by the ranks of a process, which hold no
// message back for one another: a message ends when both its ends have begun.
// However long ranks rest before their actions, all of them end, with the same
// bits.
#include "runtime/Comm/InProcess/InProcess.h"
#include "test/unit/runtime/Exec/Chain.h"
#include "test/unit/runtime/TinyArtifact.h"

#include <gtest/gtest.h>
#include <random>
#include <thread>

namespace zc {
namespace {

using namespace test;

/// Rests a while before most actions, of one rank most of the time.
class Delays {
public:
  Delays(unsigned seed, int rank, int ranks)
      : random(seed * 64 + unsigned(rank)),
        most(int(seed) % ranks == rank ? 4000 : 800) {}
  void rest() {
    if (random() % 4)
      std::this_thread::sleep_for(
          std::chrono::microseconds(random() % unsigned(most)));
  }

private:
  std::mt19937 random;
  int most;
};

class Chain {
public:
  Chain(uint32_t roles, uint32_t microBatches, const std::string &schedule)
      : roles(roles) {
    Status written =
        writeChain(folder.path("a.zca"), roles, microBatches, schedule);
    EXPECT_TRUE(written.ok()) << written.message();
    auto loaded = Artifact::load(folder.path("a.zca"));
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
    if (loaded.ok())
      artifact.emplace(std::move(*loaded));
  }

  /// Runs some steps on all ranks; `seed` 0: without delays.
  std::vector<Found> run(unsigned seed) {
    auto worlds = createInProcessRanks(int(roles));
    std::vector<Found> found(roles);
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < roles; ++rank)
      threads.emplace_back([&, rank] {
        World &world = *worlds[rank];
        world.setTimeout(std::chrono::milliseconds(60000));
        Delays delays(seed, world.rank(), world.size());
        OrderCallbacks callbacks;
        if (seed > 0)
          callbacks.before = [&](const plan::Action &) { delays.rest(); };
        Status status = runChain(*artifact, world, callbacks, found[rank]);
        if (!status.ok())
          status = world.fail(status);
        EXPECT_TRUE(status.ok()) << status.message();
      });
    for (std::thread &thread : threads)
      thread.join();
    return found;
  }

private:
  const uint32_t roles;
  TemporaryFolder folder;
  std::optional<Artifact> artifact;
};

TEST(OrderSchedules, EndWithTheSameBitsHoweverSlow) {
  for (uint32_t roles : {2u, 3u, 4u})
    for (uint32_t microBatches : {1u, 6u}) {
      std::vector<Found> expected;
      for (const char *schedule : {"naive", "gpipe", "1f1b"}) {
        SCOPED_TRACE(strCat(schedule, " ", roles, "x", microBatches));
        Chain chain(roles, microBatches, schedule);
        for (unsigned seed : {0u, 1u, 2u, 3u}) {
          const std::vector<Found> found = chain.run(seed);
          if (expected.empty())
            expected = found;
          EXPECT_EQ(found, expected) << "delays " << seed;
          if (::testing::Test::HasFailure())
            return;
        }
      }
      for (const Found &each : expected) {
        ASSERT_EQ(each.size(), 4u);
        EXPECT_EQ(each[0], expected[0][0]) << "all have the sum of all";
        EXPECT_NE(each[0], each[1]);
        EXPECT_GT(each[0], 0);
      }
      EXPECT_NE(expected[0][3], 0.7f) << "the weight moves";
    }
}

} // namespace
} // namespace zc
