// Ranks of libzc.so that are threads of one process, whose messages go by the
// test's own functions.
#include "runtime/Api/zc.h"
#include "test/unit/runtime/TinyArtifact.h"
#include "test/unit/runtime/TinyRanks.h"

#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>

namespace zc {
namespace {

using namespace test;

constexpr int kRanks = 2;

/// The messages under way between all ranks: copies, until they are asked for.
class Hub {
public:
  struct Rank {
    Hub *hub;
    int number;
  };
  zc_transport transport(int rank) {
    ranks[rank] = {this, rank};
    return {sizeof(zc_transport), rank,     kRanks, &ranks[rank],
            &Hub::send,           &receive, &test,  &cancel};
  }

  std::atomic<int> sendsLeft{1 << 30}; // before the functions fail
  int open() {
    std::lock_guard<std::mutex> lock(mutex);
    return int(receives.size());
  }

private:
  using Line = std::tuple<int, int, uint32_t>; // from, to, channel
  struct Receive {
    Line line;
    void *data;
    size_t bytes;
  };

  static zc_status send(void *context, int32_t peer, uint32_t channel,
                        const void *data, size_t bytes, uint64_t *request) {
    auto &[hub, rank] = *static_cast<Rank *>(context);
    if (--hub->sendsLeft < 0)
      return ZC_IO_ERROR;
    std::lock_guard<std::mutex> lock(hub->mutex);
    hub->lines[{rank, peer, channel}].emplace_back(
        static_cast<const char *>(data), bytes);
    *request = 0; // done
    return ZC_OK;
  }
  static zc_status receive(void *context, int32_t peer, uint32_t channel,
                           void *data, size_t bytes, uint64_t *request) {
    auto &[hub, rank] = *static_cast<Rank *>(context);
    std::lock_guard<std::mutex> lock(hub->mutex);
    *request = ++hub->last;
    hub->receives[*request] = {{peer, rank, channel}, data, bytes};
    return ZC_OK;
  }
  static zc_status test(void *context, uint64_t request, int32_t *finished) {
    Hub *hub = static_cast<Rank *>(context)->hub;
    std::lock_guard<std::mutex> lock(hub->mutex);
    auto found = hub->receives.find(request);
    *finished = request == 0;
    if (request == 0 || hub->lines[found->second.line].empty())
      return ZC_OK;
    auto &[line, data, bytes] = found->second;
    std::string message = std::move(hub->lines[line].front());
    hub->lines[line].pop_front();
    if (message.size() != bytes)
      return ZC_INTERNAL;
    std::memcpy(data, message.data(), bytes);
    hub->receives.erase(found);
    *finished = 1;
    return ZC_OK;
  }
  static void cancel(void *context, uint64_t request) {
    Hub *hub = static_cast<Rank *>(context)->hub;
    std::lock_guard<std::mutex> lock(hub->mutex);
    hub->receives.erase(request);
  }

  Rank ranks[kRanks];
  std::mutex mutex;
  uint64_t last = 0;
  std::map<Line, std::deque<std::string>> lines;
  std::map<uint64_t, Receive> receives;
};

const std::vector<float> kX = {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1};
const std::vector<float> kLabels = {0.5f, -1, 2, 1.5f};
const std::vector<int64_t> kIds = {0, 1, 2, 3};

/// Samples from `first` on.
void give(zc_session *session, int64_t first, int64_t count) {
  const int64_t x[] = {count, 3}, labels[] = {count, 1}, ids[] = {count};
  EXPECT_EQ(zc_set_input(session, "x", ZC_FLOAT32, 2, x, &kX[3 * first]),
            ZC_OK);
  EXPECT_EQ(
      zc_set_input(session, "labels", ZC_FLOAT32, 2, labels, &kLabels[first]),
      ZC_OK);
  EXPECT_EQ(zc_set_input(session, "ids", ZC_INT64, 1, ids, &kIds[first]),
            ZC_OK);
}

class ApiRanks : public ::testing::TestWithParam<bool> {
protected:
  void SetUp() override {
    path = folder.path("two.zca");
    writeArtifact(path, tinyManifestOfTwo(/*sharded=*/GetParam()));
  }

  /// Opens each rank in a thread of its own, and closes it.
  void run(const std::function<void(zc_session *, int)> &body,
           double timeout = 60) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kRanks; ++rank)
      threads.emplace_back([&, rank] {
        zc_transport transport = hub.transport(rank);
        zc_open_options options = ZC_OPEN_OPTIONS_INIT;
        options.transport = &transport;
        options.timeout = timeout;
        zc_session *session = nullptr;
        EXPECT_EQ(zc_open(path.c_str(), &options, &session), ZC_OK)
            << zc_last_error(session);
        body(session, rank);
        EXPECT_EQ(zc_close(&session), ZC_OK);
      });
    for (std::thread &thread : threads)
      thread.join();
    EXPECT_EQ(hub.open(), 0) << "nobody waits for a message any more";
  }

  TemporaryFolder folder;
  std::string path;
  Hub hub;
};

/// The loss and the weights of one rank with all samples.
TEST_P(ApiRanks, TrainAsOne) {
  writeArtifact(folder.path("one.zca"), tinyManifest());
  zc_session *alone = nullptr;
  ASSERT_EQ(zc_open(folder.path("one.zca").c_str(), nullptr, &alone), ZC_OK);
  give(alone, 0, 4);
  ASSERT_EQ(zc_step(alone), ZC_OK);
  double expected = -1;
  float weights[3] = {};
  zc_metric(alone, "loss", &expected);
  zc_get_state(alone, "w", weights, sizeof(weights));
  zc_close(&alone);
  run([&](zc_session *session, int rank) {
    EXPECT_EQ(zc_rank(session), rank);
    EXPECT_EQ(zc_ranks(session), kRanks);
    EXPECT_EQ(zc_batch(session), 4);
    ASSERT_EQ(zc_rank_batch(session), 2);
    give(session, 2 * rank, 2);
    ASSERT_EQ(zc_step(session), ZC_OK) << zc_last_error(session);
    double loss = -1;
    EXPECT_EQ(zc_metric(session, "loss", &loss), ZC_OK);
    EXPECT_FLOAT_EQ(float(loss), float(expected));
    float found[3] = {};
    ASSERT_EQ(zc_get_state(session, "w", found, sizeof(found)), ZC_OK);
    for (int i = 0; i < 3; ++i)
      EXPECT_FLOAT_EQ(found[i], weights[i]);
    const float others[3] = {7, 8, 9};
    ASSERT_EQ(zc_set_state(session, "w", others, sizeof(others)), ZC_OK);
    ASSERT_EQ(zc_get_state(session, "w", found, sizeof(found)), ZC_OK);
    EXPECT_EQ(found[2], 9);
    // A mistake that all make alike ends nothing.
    EXPECT_EQ(zc_get_state(session, "none", found, 4), ZC_NOT_FOUND);
    give(session, 0, 4);
    EXPECT_EQ(zc_step(session), ZC_OK) << zc_last_error(session);
  });
}

TEST_P(ApiRanks, HearOfOnesFailure) {
  run([&](zc_session *session, int rank) {
    give(session, 0, 4 - rank); // three samples are no step
    EXPECT_EQ(zc_step(session), rank == 1 ? ZC_INVALID_ARGUMENT : ZC_CANCELLED);
    if (rank == 1) {
      EXPECT_NE(std::string(zc_last_error(session)).find("its own 2 alone"),
                std::string::npos)
          << zc_last_error(session);
    }
    EXPECT_EQ(zc_step(session), ZC_CANCELLED);
    EXPECT_EQ(zc_steps_done(session), 0);
  });
}

TEST_P(ApiRanks, FunctionsThatFailEndAll) {
  run(
      [&](zc_session *session, int rank) {
        give(session, 0, 4);
        ASSERT_EQ(zc_step(session), ZC_OK) << zc_last_error(session);
        hub.sendsLeft = 0;
        const zc_status status = zc_step(session);
        EXPECT_TRUE(status == ZC_IO_ERROR || status == ZC_CANCELLED ||
                    status == ZC_DEADLINE_EXCEEDED)
            << zc_status_name(status);
        EXPECT_EQ(zc_step(session), ZC_CANCELLED);
      },
      /*timeout=*/0.5);
}

TEST_P(ApiRanks, WaitNoLongerThanAllowed) {
  run(
      [&](zc_session *session, int rank) {
        give(session, 0, 4);
        if (rank == 1)
          return; // closes, and comes no more
        EXPECT_EQ(zc_step(session), ZC_DEADLINE_EXCEEDED);
      },
      /*timeout=*/0.2);
}

TEST_P(ApiRanks, RefuseWhatIsNoTransport) {
  auto open = [&](const zc_transport &transport, const char *why) {
    zc_open_options options = ZC_OPEN_OPTIONS_INIT;
    options.transport = &transport;
    zc_session *session = nullptr;
    EXPECT_EQ(zc_open(path.c_str(), &options, &session), ZC_INVALID_ARGUMENT);
    EXPECT_NE(std::string(zc_last_error(session)).find(why), std::string::npos)
        << zc_last_error(session);
    zc_close(&session);
  };
  zc_transport lacking = hub.transport(0);
  lacking.test = nullptr;
  open(lacking, "lacks one of its four functions");
  zc_transport nobody = hub.transport(0);
  nobody.rank = kRanks;
  open(nobody, "rank 2 of 2");
  zc_transport alone = hub.transport(0);
  alone.ranks = 1;
  open(alone, "for 2 ranks");
}

INSTANTIATE_TEST_SUITE_P(Sharded, ApiRanks, ::testing::Bool());

} // namespace
} // namespace zc
