#include "runtime/Comm/InProcess/InProcess.h"
#include "runtime/Comm/Ring.h"

#include <condition_variable>
#include <cstring>
#include <mutex>

namespace zc {
namespace {

constexpr std::chrono::seconds kDefaultTimeout(600);

/// A message on its way: the sender's own bytes, until they are taken.
struct Mail {
  const void *data = nullptr;
  uint64_t bytes = 0;
  bool waiting = false;
};

/// What the ranks share. One lock and one condition for all, held while bytes
/// are copied: simple to get right, and these ranks share one memory anyway.
struct World {
  explicit World(int size) : size(size), mail(size * size) {}

  Mail &from(int sender, int receiver) {
    return mail[sender * size + receiver];
  }

  const int size;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Mail> mail;
  std::vector<uint64_t> arrived = std::vector<uint64_t>(size, 0);
  std::string failure; // of the first rank that gave up
};

class InProcessRank final : public RingCommunicator {
public:
  InProcessRank(std::shared_ptr<World> world, int rank)
      : world(std::move(world)), theRank(rank) {}

  int rank() const override { return theRank; }
  int size() const override { return world->size; }
  void setTimeout(std::chrono::milliseconds value) override { timeout = value; }
  uint64_t sentBytes() const override { return sent; }
  Status barrier() override;
  Status sendReceive(const Exchange &exchange) override;

private:
  using Lock = std::unique_lock<std::mutex>;

  /// Waits for `ready`; fails when time is up or another rank has failed.
  template <typename Ready>
  Status wait(Lock &lock, int other, const char *what, Ready ready) {
    bool inTime = world->changed.wait_for(
        lock, timeout, [&] { return ready() || !world->failure.empty(); });
    if (ready())
      return Status();
    if (!inTime)
      world->failure = strCat("rank ", theRank, ": waited ", timeout.count(),
                              " ms for rank ", other, " in ", what);
    world->changed.notify_all();
    return Status(StatusCode::DeadlineExceeded, world->failure);
  }

  Status post(Lock &lock, const Exchange &exchange);
  Status take(Lock &lock, const Exchange &exchange);

  std::shared_ptr<World> world;
  int theRank;
  std::chrono::milliseconds timeout = kDefaultTimeout;
  uint64_t sent = 0;
};

Status InProcessRank::barrier() {
  Lock lock(world->mutex);
  uint64_t round = ++world->arrived[theRank];
  world->changed.notify_all();
  for (int other = 0; other < size(); ++other)
    ZC_RETURN_IF_ERROR(wait(lock, other, "a barrier",
                            [&] { return world->arrived[other] >= round; }));
  return Status();
}

Status InProcessRank::post(Lock &lock, const Exchange &exchange) {
  Mail &mail = world->from(theRank, exchange.sendTo);
  ZC_RETURN_IF_ERROR(
      wait(lock, exchange.sendTo, "a send", [&] { return !mail.waiting; }));
  mail = {exchange.send, exchange.sendBytes, true};
  sent += exchange.sendBytes;
  world->changed.notify_all();
  return Status();
}

Status InProcessRank::take(Lock &lock, const Exchange &exchange) {
  Mail &mail = world->from(exchange.receiveFrom, theRank);
  ZC_RETURN_IF_ERROR(wait(lock, exchange.receiveFrom, "a receive",
                          [&] { return mail.waiting; }));
  if (mail.bytes != exchange.receiveBytes) {
    world->failure =
        strCat("rank ", theRank, ": rank ", exchange.receiveFrom, " sent ",
               mail.bytes, " bytes; expected ", exchange.receiveBytes);
    world->changed.notify_all();
    return Status(StatusCode::Internal, world->failure);
  }
  std::memcpy(exchange.receive, mail.data, mail.bytes);
  mail.waiting = false;
  world->changed.notify_all();
  return Status();
}

Status InProcessRank::sendReceive(const Exchange &exchange) {
  Lock lock(world->mutex);
  if (exchange.sendBytes > 0)
    ZC_RETURN_IF_ERROR(post(lock, exchange));
  if (exchange.receiveBytes > 0)
    ZC_RETURN_IF_ERROR(take(lock, exchange));
  if (exchange.sendBytes == 0)
    return Status();
  // The bytes belong to the caller again once they are taken.
  Mail &mail = world->from(theRank, exchange.sendTo);
  return wait(lock, exchange.sendTo, "a send", [&] { return !mail.waiting; });
}

} // namespace

std::vector<std::unique_ptr<Communicator>> createInProcessRanks(int size) {
  auto world = std::make_shared<World>(size);
  std::vector<std::unique_ptr<Communicator>> ranks;
  for (int rank = 0; rank < size; ++rank)
    ranks.push_back(std::make_unique<InProcessRank>(world, rank));
  return ranks;
}

} // namespace zc
