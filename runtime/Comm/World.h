// All ranks of a run, as one of them sees them: groups of ranks, time limits,
// and how the failure of one ends all.
#ifndef ZC_RUNTIME_COMM_WORLD_H
#define ZC_RUNTIME_COMM_WORLD_H

#include "runtime/Comm/Communicator.h"
#include "runtime/Comm/Transport.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace zc {

/// One side of a message of an exchange.
struct Transfer {
  bool isSend;
  int peer;
  void *data; // not written to by a send
  uint64_t bytes;
};

class World;

/// One side of a message that goes on by itself. Where it is destroyed before
/// it has ended, it is taken back. The world must outlive it.
class PostedMessage {
public:
  PostedMessage() = default; // of nothing: has ended
  PostedMessage(PostedMessage &&other) noexcept { *this = std::move(other); }
  PostedMessage &operator=(PostedMessage &&other) noexcept {
    std::swap(world, other.world);
    std::swap(request, other.request);
    std::swap(transfer, other.transfer);
    return *this;
  }
  ~PostedMessage() { cancel(); }

  /// Whether it has not been waited for yet.
  bool isUnderWay() const { return world != nullptr; }
  /// Lets go of it, so that nobody touches its bytes; it will not arrive.
  void cancel();

private:
  friend class World;
  World *world = nullptr;
  RequestId request = 0;
  Transfer transfer = {};
};

class World {
public:
  using Clock = std::chrono::steady_clock;

  /// One rank without a transport is a world of its own.
  World();
  explicit World(std::unique_ptr<Transport> transport);
  ~World();
  World(const World &) = delete;

  int rank() const { return theRank; }
  int size() const { return theSize; }
  /// Whether this is the rank that talks to the user.
  bool isFirst() const { return theRank == 0; }

  /// Whoever waits longer fails, and names the rank that all wait for.
  void setTimeout(std::chrono::milliseconds value) { timeout = value; }

  /// All ranks: for what the driver must agree upon. Used by one thread.
  Communicator &all() { return *everyone; }

  /// The ranks of `members`, in this order; this rank must be among them.
  /// Channels count from 1; a group of its own, or a thread of its own, needs
  /// a channel of its own, the same on all ranks.
  std::unique_ptr<Communicator> group(std::vector<int> members,
                                      uint32_t channel);

  /// Called by all ranks: success if all have succeeded. Else the lowest rank
  /// that failed gets its own failure, to be told to the user, and the others
  /// one with StatusCode::Cancelled.
  /// `largest`, if any, becomes the largest of all ranks' values, each.
  /// `through`: a group of all ranks that a thread of its own agrees by, beside
  /// what others do.
  Status agree(const Status &mine, std::vector<int64_t> *largest = nullptr,
               Communicator *through = nullptr);

  /// Every rank's failure comes here last, agreed upon or not: ends the
  /// waiting of all others, unless they know already. Returns what this rank
  /// must tell the user; Cancelled where another one does.
  Status fail(const Status &mine);

  /// Whether this rank or another has failed, as far as it is known here.
  bool hasFailed();

  /// A launcher such as mpirun ends all processes when the first one fails:
  /// the one that knows why must have told the user before any of them goes.
  /// The rank whose failure it was calls tellTold() when it has, the others
  /// awaitTold(), which waits for `limit` at most, since the one that knows may
  /// have died meanwhile. Returns whether it came.
  void tellTold();
  bool awaitTold(std::chrono::milliseconds limit);

  /// Sends and receives at once, through a channel; for groups.
  Status exchange(const std::vector<Transfer> &transfers, uint32_t channel);

  /// Begins a message through a channel from kFirstLineChannel on. It moves
  /// along while this rank does other things, and does not wait for messages of
  /// other channels. The bytes belong to it until await() or cancel().
  Result<PostedMessage> post(const Transfer &transfer, uint32_t channel);
  /// Waits for its end, with the limits and failures of exchange().
  Status await(PostedMessage &message);

  /// Waits for what ranks do together without messages of ours, by a device's
  /// library: until `done` says that it is, or fails, or another rank has
  /// failed, or the time is up.
  Status waitFor(const std::function<Result<bool>()> &done);

private:
  friend class PostedMessage;
  struct Pending;
  class Waiting;

  Status wait(Pending &pending);
  Status look(Pending &pending);
  void readNotes();
  void tellOthers(Note::Kind kind);
  Status peerGone(const Status &why);
  Status timedOut(int peer, const char *doing);
  Status timedOutTogether();
  std::optional<int> ask(int peer);
  void rest(std::chrono::milliseconds time);
  void begun();
  void ended();
  void moveMessages();

  std::unique_ptr<Transport> transport;
  const int theRank, theSize;
  std::chrono::milliseconds timeout;
  std::unique_ptr<Communicator> everyone;

  std::mutex mutex;           // of what follows
  bool failed = false;        // here or elsewhere: all know
  bool mustTell = false;      // what has failed
  bool isTold = false;        // to the user, by another rank
  std::multiset<int> waiting; // who is waited for, by any thread
  std::map<int, int> answers; // of ranks that were asked
  size_t posted = 0;          // messages under way
  bool closing = false;
  std::condition_variable changed; // of the two above
  std::thread mover;               // of messages; from the first one on
};

} // namespace zc

#endif // ZC_RUNTIME_COMM_WORLD_H
