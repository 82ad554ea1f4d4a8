#include "runtime/Api/CallerTransport.h"

#include <atomic>
#include <chrono>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <sched.h>
#include <thread>

namespace zc {
namespace {

constexpr uint32_t kNoteChannel = kGroupChannels + kLineChannels;
// How often to look again at once before resting.
constexpr int kBusyLooks = 100;
constexpr std::chrono::microseconds kRest(50), kMoveRest(100);
constexpr std::chrono::milliseconds kLastWords(300);

class CallerTransport final : public Transport {
public:
  explicit CallerTransport(const zc_transport &given) : given(given) {}

  int rank() const override { return given.rank; }
  int size() const override { return given.ranks; }

  Result<RequestId> send(int peer, uint32_t channel, const void *data,
                         uint64_t bytes) override {
    Lock lock(mutex);
    return sendLocked(peer, channel, data, bytes);
  }
  Result<RequestId> receive(int peer, uint32_t channel, void *data,
                            uint64_t bytes) override {
    Lock lock(mutex);
    return receiveLocked(peer, channel, data, bytes);
  }
  Result<bool> finished(RequestId request) override {
    Lock lock(mutex);
    Result<bool> is = test(request);
    if (is.ok() && *is)
      idleLooks = 0;
    return is;
  }
  void cancel(RequestId request) override {
    Lock lock(mutex);
    given.cancel(given.context, request);
  }

  uint64_t ticket() override { return 0; }
  void pause(uint64_t) override {
    // Others need the core, be it ranks or our own kernels.
    if (++idleLooks < kBusyLooks)
      ::sched_yield();
    else
      std::this_thread::sleep_for(kRest);
  }
  /// A caller may move its messages only when it is asked for one.
  bool moveAlong() override {
    {
      Lock lock(mutex);
      takeNotes();
    }
    std::this_thread::sleep_for(kMoveRest);
    return true;
  }

  void sendNote(int peer, const Note &note) override {
    Lock lock(mutex);
    dropSentNotes();
    sentNotes.push_back({note, 0});
    SentNote &sent = sentNotes.back();
    Result<RequestId> request =
        sendLocked(peer, kNoteChannel, &sent.note, sizeof(Note));
    if (request.ok())
      sent.request = *request;
    else // whoever is gone needs no word
      sentNotes.pop_back();
  }
  std::optional<Note> nextNote() override {
    Lock lock(mutex);
    takeNotes();
    if (notes.empty())
      return std::nullopt;
    Note note = notes.front();
    notes.pop_front();
    return note;
  }

  /// The last words of a rank that fails are for the others.
  void close(bool failed) override {
    auto end = std::chrono::steady_clock::now() + kLastWords;
    Lock lock(mutex);
    for (dropSentNotes();
         failed && !sentNotes.empty() && std::chrono::steady_clock::now() < end;
         dropSentNotes()) {
      lock.unlock();
      std::this_thread::sleep_for(kRest);
      lock.lock();
    }
    for (const SentNote &sent : sentNotes)
      given.cancel(given.context, sent.request);
    for (auto &[peer, incoming] : incomings)
      if (incoming.isOpen)
        given.cancel(given.context, incoming.request);
  }

private:
  using Lock = std::unique_lock<std::mutex>;
  struct SentNote {
    Note note;
    RequestId request;
  };
  /// A note that a peer may send.
  struct Incoming {
    Note note;
    RequestId request = 0;
    bool isOpen = false;
  };

  static Status check(zc_status status, const char *doing, int peer) {
    if (status == ZC_OK)
      return Status();
    return makeError(StatusCode::IoError, "the caller's function cannot ",
                     doing, " rank ", peer, " (zc_status ", int(status), ")");
  }

  Result<RequestId> sendLocked(int peer, uint32_t channel, const void *data,
                               uint64_t bytes) {
    RequestId request = 0;
    ZC_RETURN_IF_ERROR(
        check(given.send(given.context, peer, channel, data, bytes, &request),
              "send to", peer));
    peers[request] = peer;
    return request;
  }
  Result<RequestId> receiveLocked(int peer, uint32_t channel, void *data,
                                  uint64_t bytes) {
    RequestId request = 0;
    ZC_RETURN_IF_ERROR(check(
        given.receive(given.context, peer, channel, data, bytes, &request),
        "receive from", peer));
    peers[request] = peer;
    return request;
  }

  Result<bool> test(RequestId request) {
    int32_t isFinished = 0;
    ZC_RETURN_IF_ERROR(check(given.test(given.context, request, &isFinished),
                             "finish a message of", peers[request]));
    if (isFinished)
      peers.erase(request);
    return isFinished != 0;
  }

  void dropSentNotes() {
    for (auto it = sentNotes.begin(); it != sentNotes.end();) {
      Result<bool> isSent = test(it->request);
      it = isSent.ok() && !*isSent ? std::next(it) : sentNotes.erase(it);
    }
  }

  /// Takes the notes that have arrived. One note of each peer is awaited at any
  /// time.
  void takeNotes() {
    for (int peer = 0; peer < given.ranks; ++peer) {
      if (peer == given.rank)
        continue;
      Incoming &incoming = incomings[peer];
      if (incoming.isOpen) {
        Result<bool> isThere = test(incoming.request);
        if (isThere.ok() && !*isThere)
          continue;
        incoming.isOpen = false;
        if (!isThere.ok()) // a message of the peer will tell
          continue;
        notes.push_back(incoming.note);
      }
      Result<RequestId> request =
          receiveLocked(peer, kNoteChannel, &incoming.note, sizeof(Note));
      incoming.isOpen = request.ok();
      if (request.ok())
        incoming.request = *request;
    }
  }

  const zc_transport given;
  std::mutex mutex; // of what follows, and of the caller's functions
  std::map<RequestId, int> peers; // whom a message goes to or comes from
  std::map<int, Incoming> incomings;
  std::deque<Note> notes;
  std::list<SentNote> sentNotes;
  std::atomic<int> idleLooks{0};
};

} // namespace

Result<std::unique_ptr<Transport>>
makeCallerTransport(const zc_transport &given) {
  if (!given.send || !given.receive || !given.test || !given.cancel)
    return makeError(StatusCode::InvalidArgument,
                     "the transport lacks one of its four functions");
  if (given.ranks < 1 || given.rank < 0 || given.rank >= given.ranks)
    return makeError(StatusCode::InvalidArgument, "the transport says rank ",
                     given.rank, " of ", given.ranks, ", which is none");
  return std::unique_ptr<Transport>(new CallerTransport(given));
}

} // namespace zc
