#include "runtime/Comm/InProcess/InProcess.h"

#include "runtime/Base/Company.h"
#include "runtime/Base/Cores.h"

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <tuple>

namespace zc {
namespace {

constexpr std::chrono::milliseconds kRest(2);
// About what it takes to wake a thread: ranks that compute alike mostly meet
// sooner.
constexpr std::chrono::microseconds kAwake(50);

/// One side of a message: the owner's own bytes, until it is done.
struct Side {
  enum State { Open, Copying, Done } state = Open;
  int owner = 0;
  char *data = nullptr;
  uint64_t bytes = 0;
};
using SharedSide = std::shared_ptr<Side>;

/// State that the ranks share. Bytes are copied without the lock.
struct Hub {
  explicit Hub(int size) : mayWaitAwake(hasCores(size)), ranks(size_t(size)) {}

  /// Whether each rank has a processor, all of its time.
  static bool hasCores(int size) {
    const int allowed = findAllowedCores().count;
    const CpuQuota quota = readCpuQuota();
    return size <= allowed && (quota.cores == 0 || quota.cores >= allowed);
  }

  struct Rank {
    std::condition_variable changed;
    std::atomic<uint64_t> changes{0};
    std::deque<Note> notes;
  };
  /// Sends and receives that have not met, of one sender, receiver, channel.
  struct Line {
    std::deque<SharedSide> sends, receives;
  };

  void touch(int rank) {
    ++ranks[size_t(rank)].changes;
    ranks[size_t(rank)].changed.notify_all();
  }

  const bool mayWaitAwake;
  std::mutex mutex;
  std::deque<Rank> ranks;
  std::map<std::tuple<int, int, uint32_t>, Line> lines;
};

class InProcess final : public Transport {
public:
  InProcess(std::shared_ptr<Hub> hub, int rank)
      : hub(std::move(hub)), theRank(rank) {}

  int rank() const override { return theRank; }
  int size() const override { return int(hub->ranks.size()); }

  Result<RequestId> send(int peer, uint32_t channel, const void *data,
                         uint64_t bytes) override {
    // Only read: the other side copies out of it.
    return begin({theRank, peer, channel}, true,
                 const_cast<char *>(static_cast<const char *>(data)), bytes);
  }
  Result<RequestId> receive(int peer, uint32_t channel, void *data,
                            uint64_t bytes) override {
    return begin({peer, theRank, channel}, false, static_cast<char *>(data),
                 bytes);
  }
  Result<bool> finished(RequestId request) override;
  void cancel(RequestId request) override;

  uint64_t ticket() override { return mine().changes; }
  void pause(uint64_t ticket) override {
    auto hasChanged = [&] { return mine().changes != ticket; };
    // Once: whoever waits for long sleeps.
    if (hub->mayWaitAwake && awakeFor.exchange(ticket) != ticket &&
        waitAwake(timeAwake(kAwake), hasChanged))
      return;
    std::unique_lock<std::mutex> lock(hub->mutex);
    mine().changed.wait_for(lock, kRest, hasChanged);
    lock.unlock();
    ownCompany().lookAround(Company::Clock::now());
  }

  // Whoever comes second has moved all.
  bool moveAlong() override { return false; }

  void sendNote(int peer, const Note &note) override {
    std::lock_guard<std::mutex> lock(hub->mutex);
    hub->ranks[size_t(peer)].notes.push_back(note);
    hub->touch(peer);
  }
  std::optional<Note> nextNote() override {
    std::lock_guard<std::mutex> lock(hub->mutex);
    if (mine().notes.empty())
      return std::nullopt;
    Note note = mine().notes.front();
    mine().notes.pop_front();
    return note;
  }
  void close(bool) override {}

private:
  using Lock = std::unique_lock<std::mutex>;
  using Key = std::tuple<int, int, uint32_t>;
  struct Request {
    Key line;
    SharedSide side;
  };

  Hub::Rank &mine() { return hub->ranks[size_t(theRank)]; }
  Result<RequestId> begin(const Key &key, bool sends, char *data,
                          uint64_t bytes);
  void copy(Lock &lock, const SharedSide &from, const SharedSide &to);

  std::shared_ptr<Hub> hub;
  const int theRank;
  RequestId last = 0;
  std::atomic<uint64_t> awakeFor{~uint64_t(0)}; // the ticket of the last pause
  std::map<RequestId, Request> requests;
};

/// Whoever comes second copies.
Result<RequestId> InProcess::begin(const Key &key, bool sends, char *data,
                                   uint64_t bytes) {
  auto side = std::make_shared<Side>(Side{Side::Open, theRank, data, bytes});
  Lock lock(hub->mutex);
  RequestId id = ++last;
  requests[id] = {key, side};
  Hub::Line &line = hub->lines[key];
  auto &others = sends ? line.receives : line.sends;
  if (others.empty()) {
    (sends ? line.sends : line.receives).push_back(side);
    return id;
  }
  SharedSide other = others.front();
  others.pop_front();
  if (other->bytes != bytes) {
    requests.erase(id);
    return makeError(StatusCode::Internal, "rank ", std::get<0>(key), " sent ",
                     (sends ? side : other)->bytes, " bytes, but rank ",
                     std::get<1>(key), " expected ",
                     (sends ? other : side)->bytes, ": ",
                     explainMismatch(std::get<2>(key)));
  }
  copy(lock, sends ? side : other, sends ? other : side);
  return id;
}

void InProcess::copy(Lock &lock, const SharedSide &from, const SharedSide &to) {
  from->state = to->state = Side::Copying;
  lock.unlock();
  if (from->bytes > 0)
    std::memcpy(to->data, from->data, from->bytes);
  lock.lock();
  from->state = to->state = Side::Done;
  hub->touch(from->owner);
  hub->touch(to->owner);
}

Result<bool> InProcess::finished(RequestId request) {
  Lock lock(hub->mutex);
  auto found = requests.find(request);
  if (found->second.side->state != Side::Done)
    return false;
  requests.erase(found);
  return true;
}

void InProcess::cancel(RequestId request) {
  Lock lock(hub->mutex);
  auto found = requests.find(request);
  if (found == requests.end())
    return;
  SharedSide side = found->second.side;
  Hub::Line &line = hub->lines[found->second.line];
  for (auto *sides : {&line.sends, &line.receives})
    for (auto it = sides->begin(); it != sides->end(); ++it)
      if (*it == side) {
        sides->erase(it);
        break;
      }
  requests.erase(found);
  mine().changed.wait(lock, [&] { return side->state != Side::Copying; });
}

} // namespace

std::vector<std::unique_ptr<World>> createInProcessRanks(int size) {
  auto hub = std::make_shared<Hub>(size);
  std::vector<std::unique_ptr<World>> ranks;
  for (int rank = 0; rank < size; ++rank)
    ranks.push_back(
        std::make_unique<World>(std::make_unique<InProcess>(hub, rank)));
  return ranks;
}

} // namespace zc
