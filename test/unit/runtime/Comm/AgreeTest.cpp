// Tests who tells of a failure that ranks agree on, after notes of others.
#include "runtime/Comm/World.h"

#include <cstring>
#include <gtest/gtest.h>
#include <utility>

using namespace zc;

namespace {

/// Rank 0 of two. Rank 1 has sent its part of an agreement, in which all was
/// well with it, before anything else happened.
class EarlyPeer final : public Transport {
public:
  explicit EarlyPeer(std::optional<Note> note) : note(note) {}

  int rank() const override { return 0; }
  int size() const override { return 2; }
  Result<RequestId> send(int, uint32_t, const void *, uint64_t) override {
    return RequestId(0);
  }
  /// Its reduction in two halves: which rank failed, none of rank 1's, and
  /// whether any is well, rank 1 at least.
  Result<RequestId> receive(int, uint32_t, void *data,
                            uint64_t bytes) override {
    EXPECT_EQ(bytes, sizeof(int64_t));
    const int64_t half = received++;
    std::memcpy(data, &half, sizeof(half));
    return RequestId(1);
  }
  Result<bool> finished(RequestId) override { return true; }
  void cancel(RequestId) override {}
  uint64_t ticket() override { return 0; }
  void pause(uint64_t) override {}
  bool moveAlong() override { return false; }
  void sendNote(int, const Note &) override {}
  std::optional<Note> nextNote() override {
    return std::exchange(note, std::nullopt);
  }
  void close(bool) override {}

private:
  std::optional<Note> note;
  int64_t received = 0;
};

Status agreeOnAFailure(std::optional<Note> note) {
  World world(std::make_unique<EarlyPeer>(note));
  return world.fail(
      world.agree(Status(StatusCode::NotFound, "the folder is gone")));
}

} // namespace

TEST(Agreement, TheOneThatFailsTellsWhy) {
  EXPECT_EQ(agreeOnAFailure(std::nullopt).message(),
            "rank 0: the folder is gone");
}

// Such as one that was stopped until the others gave up: they had taken their
// part of the agreement before, and removed the files since.
TEST(Agreement, OneThatFailsBehindAnotherLeavesItToThat) {
  EXPECT_EQ(agreeOnAFailure(Note{Note::Failed, 1, 0}).code(),
            StatusCode::Cancelled);
}
