// How often ranks wait for one another to agree.
#include "runtime/Comm/Tcp/Socket.h"
#include "runtime/Comm/Tcp/Tcp.h"
#include "runtime/Driver/Launch.h"
#include "runtime/Driver/Trainer.h"
#include "test/unit/runtime/TinyArtifact.h"
#include "test/unit/runtime/TinyRanks.h"

#include <atomic>
#include <gtest/gtest.h>

namespace zc {
namespace {

using namespace test;

/// Counts what a rank sends through the driver's own channel.
class CountingTransport final : public Transport {
public:
  CountingTransport(std::unique_ptr<Transport> inner, std::atomic<int> &count)
      : inner(std::move(inner)), count(count) {}

  int rank() const override { return inner->rank(); }
  int size() const override { return inner->size(); }
  Result<RequestId> send(int peer, uint32_t channel, const void *data,
                         uint64_t bytes) override {
    count += channel == 0;
    return inner->send(peer, channel, data, bytes);
  }
  Result<RequestId> receive(int peer, uint32_t channel, void *data,
                            uint64_t bytes) override {
    return inner->receive(peer, channel, data, bytes);
  }
  Result<bool> finished(RequestId request) override {
    return inner->finished(request);
  }
  void cancel(RequestId request) override { inner->cancel(request); }
  uint64_t ticket() override { return inner->ticket(); }
  void pause(uint64_t ticket) override { inner->pause(ticket); }
  bool moveAlong() override { return inner->moveAlong(); }
  void sendNote(int peer, const Note &note) override {
    inner->sendNote(peer, note);
  }
  std::optional<Note> nextNote() override { return inner->nextNote(); }
  void close(bool failed) override { inner->close(failed); }

private:
  std::unique_ptr<Transport> inner;
  std::atomic<int> &count;
};

class Agreements : public ::testing::Test {
protected:
  void SetUp() override {
    writeArtifact(folder.path("two.zca"), tinyManifestOfTwo(false));
    writeTinyData(folder.path("data"), 10);
    options.artifact = folder.path("two.zca");
    options.data = folder.path("data");
    options.quiet = true;
  }

  /// How many messages the first of two ranks sends to the other through the
  /// driver's channel.
  int sentIn(const std::function<Result<int>(const Rank &)> &body) {
    const int port = *tcp::portOf(*tcp::listenOn(0));
    std::atomic<int> counts[2] = {{0}, {0}};
    LaunchOptions two;
    two.localRanks = 2;
    Result<int> result = launch(two, [&](const Rank &rank) -> Result<int> {
      const int number = rank.world.rank();
      ZC_ASSIGN_OR_RETURN(std::unique_ptr<Transport> transport,
                          connectByTcp({number, 2, "localhost", port},
                                       std::chrono::milliseconds(20000)));
      World world(std::make_unique<CountingTransport>(std::move(transport),
                                                      counts[number]));
      return body(Rank{world, rank.shared});
    });
    EXPECT_TRUE(result.ok()) << result.status().message();
    return counts[0];
  }
  int sentInTraining(int64_t steps) {
    options.steps = steps;
    return sentIn([&](const Rank &rank) { return train(options, rank); });
  }
  /// The same of one agreement on so many values.
  int sentInOne(size_t values) {
    return sentIn([&](const Rank &rank) -> Result<int> {
      std::vector<int64_t> largest(values);
      ZC_RETURN_IF_ERROR(rank.world.agree(Status(), &largest));
      return 0;
    });
  }

  TemporaryFolder folder;
  TrainOptions options;
};

TEST_F(Agreements, AreOneAStep) {
  const int few = sentInTraining(2), many = sentInTraining(12);
  EXPECT_EQ(many - few, 10 * sentInOne(3));
}

TEST_F(Agreements, AreOneABatchOfAnEvaluation) {
  auto sent = [&](int64_t samples) {
    writeTinyData(folder.path("held"), samples);
    options.evalData = folder.path("held");
    return sentInTraining(1);
  };
  const int few = sent(4), many = sent(18); // one batch, and five
  EXPECT_EQ(many - few, 4 * sentInOne(1));
}

} // namespace
} // namespace zc
