// Exports of `libzc_mpi.so`: messages through MPI. Nothing else of zc knows
// MPI. All calls are made under one lock, so that MPI need not lock itself.
#include "runtime/Comm/Launcher.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <list>
#include <map>
#include <mpi.h>
#include <mutex>
#include <sched.h>
#include <thread>
#include <vector>

namespace zc {
namespace {

constexpr int kNoteTag = 0; // channel c is tag c + 1
static_assert(kGroupChannels + kLineChannels <= 32767, "all MPIs have these");
// MPI counts in int.
constexpr uint64_t kLargestPiece = uint64_t(1) << 30;
// How often to look again at once before resting.
constexpr int kBusyLooks = 100;
constexpr std::chrono::microseconds kRest(50), kMoveRest(100);
constexpr std::chrono::milliseconds kLastWords(300);

class MpiTransport final : public Transport {
public:
  /// `isOurs`: nobody else in this process uses MPI, which ends with this.
  explicit MpiTransport(bool isOurs) : isOurs(isOurs) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &theRank);
    MPI_Comm_size(comm, &theSize);
  }

  int rank() const override { return theRank; }
  int size() const override { return theSize; }

  Result<RequestId> send(int peer, uint32_t channel, const void *data,
                         uint64_t bytes) override;
  Result<RequestId> receive(int peer, uint32_t channel, void *data,
                            uint64_t bytes) override;
  Result<bool> finished(RequestId id) override;
  void cancel(RequestId id) override;

  uint64_t ticket() override { return 0; }
  void pause(uint64_t) override {
    // Others need the core, be it ranks or our own kernels.
    if (++idleLooks < kBusyLooks)
      ::sched_yield();
    else
      std::this_thread::sleep_for(kRest);
  }

  bool moveAlong() override;
  void sendNote(int peer, const Note &note) override;
  std::optional<Note> nextNote() override;
  void close(bool failed) override;

private:
  using Lock = std::lock_guard<std::mutex>;
  struct Piece {
    MPI_Request request;
    int expected; // bytes to be received, -1: sent
  };
  struct Message {
    int peer;
    uint32_t channel;
    std::vector<Piece> pieces;
  };
  struct SentNote {
    Note note;
    MPI_Request request;
  };

  Status failure(int code, int peer, const char *what) const;
  void dropSentNotes();

  const bool isOurs;
  std::mutex mutex;
  MPI_Comm comm;
  int theRank = 0, theSize = 1;
  RequestId last = 0;
  std::map<RequestId, Message> messages;
  std::list<SentNote> sentNotes;
  std::atomic<int> idleLooks{0};
};

Status MpiTransport::failure(int code, int peer, const char *what) const {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return makeError(StatusCode::Internal, "MPI cannot ", what, " rank ", peer,
                   ": ", text);
}

Result<RequestId> MpiTransport::send(int peer, uint32_t channel,
                                     const void *data, uint64_t bytes) {
  Lock lock(mutex);
  Message message{peer, channel, {}};
  const char *from = static_cast<const char *>(data);
  for (uint64_t at = 0; at < bytes || at == 0; at += kLargestPiece) {
    int count = int(std::min(bytes - at, kLargestPiece));
    MPI_Request request;
    if (int code = MPI_Isend(from + at, count, MPI_BYTE, peer, int(channel) + 1,
                             comm, &request))
      return failure(code, peer, "send to");
    message.pieces.push_back({request, -1});
  }
  messages[++last] = std::move(message);
  return last;
}

Result<RequestId> MpiTransport::receive(int peer, uint32_t channel, void *data,
                                        uint64_t bytes) {
  Lock lock(mutex);
  Message message{peer, channel, {}};
  char *to = static_cast<char *>(data);
  for (uint64_t at = 0; at < bytes || at == 0; at += kLargestPiece) {
    int count = int(std::min(bytes - at, kLargestPiece));
    MPI_Request request;
    if (int code = MPI_Irecv(to + at, count, MPI_BYTE, peer, int(channel) + 1,
                             comm, &request))
      return failure(code, peer, "receive from");
    message.pieces.push_back({request, count});
  }
  messages[++last] = std::move(message);
  return last;
}

Result<bool> MpiTransport::finished(RequestId id) {
  Lock lock(mutex);
  auto found = messages.find(id);
  Message &message = found->second;
  while (!message.pieces.empty()) {
    Piece &piece = message.pieces.back();
    MPI_Status status;
    int done = 0, received = 0;
    int code = MPI_Test(&piece.request, &done, &status);
    if (code == MPI_SUCCESS && !done)
      return false;
    if (code == MPI_SUCCESS && piece.expected >= 0)
      MPI_Get_count(&status, MPI_BYTE, &received);
    const int expected = piece.expected;
    const int peer = message.peer;
    const uint32_t channel = message.channel;
    message.pieces.pop_back();
    if (code == MPI_ERR_TRUNCATE || (expected >= 0 && received != expected))
      return makeError(StatusCode::Internal, "rank ", peer,
                       " sent another number of bytes than the ", expected,
                       " that rank ", theRank,
                       " expected: ", explainMismatch(channel));
    if (code != MPI_SUCCESS)
      return failure(code, peer, "talk to");
  }
  messages.erase(found);
  idleLooks = 0;
  return true;
}

void MpiTransport::cancel(RequestId id) {
  Lock lock(mutex);
  auto found = messages.find(id);
  if (found == messages.end())
    return;
  // A send cannot be taken back; the program ends soon after.
  for (Piece &piece : found->second.pieces)
    if (piece.expected >= 0) {
      MPI_Cancel(&piece.request);
      MPI_Request_free(&piece.request);
    }
  messages.erase(found);
}

/// Every call of MPI moves all messages.
bool MpiTransport::moveAlong() {
  {
    Lock lock(mutex);
    int waiting = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, kNoteTag, comm, &waiting, MPI_STATUS_IGNORE);
  }
  std::this_thread::sleep_for(kMoveRest);
  return true;
}

void MpiTransport::dropSentNotes() {
  for (auto it = sentNotes.begin(); it != sentNotes.end();) {
    int done = 0;
    MPI_Test(&it->request, &done, MPI_STATUS_IGNORE);
    it = done ? sentNotes.erase(it) : std::next(it);
  }
}

void MpiTransport::sendNote(int peer, const Note &note) {
  Lock lock(mutex);
  dropSentNotes();
  sentNotes.push_back({note, MPI_REQUEST_NULL});
  MPI_Isend(&sentNotes.back().note, sizeof(Note), MPI_BYTE, peer, kNoteTag,
            comm, &sentNotes.back().request);
}

std::optional<Note> MpiTransport::nextNote() {
  Lock lock(mutex);
  int waiting = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, kNoteTag, comm, &waiting, &status);
  if (!waiting)
    return std::nullopt;
  Note note;
  MPI_Recv(&note, sizeof(note), MPI_BYTE, status.MPI_SOURCE, kNoteTag, comm,
           MPI_STATUS_IGNORE);
  return note;
}

void MpiTransport::close(bool failed) {
  if (!failed) {
    MPI_Comm_free(&comm);
    if (isOurs)
      MPI_Finalize();
    return;
  }
  // Ranks that are gone would keep MPI_Finalize waiting; but the others must
  // hear why.
  auto end = std::chrono::steady_clock::now() + kLastWords;
  while (std::chrono::steady_clock::now() < end) {
    {
      Lock lock(mutex);
      dropSentNotes();
      if (sentNotes.empty())
        return;
    }
    std::this_thread::sleep_for(kRest);
  }
}

} // namespace
} // namespace zc

#define ZC_EXPORT extern "C" __attribute__((visibility("default")))

ZC_EXPORT int zcTransportPluginVersion() { return zc::kTransportPluginVersion; }

/// Whether MPI may be used; else why not. `isOurs` as of MpiTransport.
static const char *startMpi(bool &isOurs) {
  int isStarted = 0, isEnded = 0, provided = 0;
  MPI_Initialized(&isStarted);
  MPI_Finalized(&isEnded);
  isOurs = !isStarted;
  if (isEnded)
    return "it has ended in this process, and cannot be started anew";
  if (isStarted) {
    MPI_Query_thread(&provided);
    return provided == MPI_THREAD_MULTIPLE
               ? nullptr
               : "the program has started it without MPI_THREAD_MULTIPLE "
                 "(MPI_Init_thread)";
  }
  // A rank that waits must not take the core from one that computes.
  ::setenv("OMPI_MCA_mpi_yield_when_idle", "1", /*overwrite=*/0);
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) !=
          MPI_SUCCESS ||
      provided < MPI_THREAD_SERIALIZED)
    return "it does not allow calls from threads";
  return nullptr;
}

ZC_EXPORT zc::Transport *zcCreateTransport(char *message, size_t size) {
  bool isOurs = true;
  if (const char *why = startMpi(isOurs)) {
    std::snprintf(message, size, "%s", why);
    return nullptr;
  }
  return new zc::MpiTransport(isOurs);
}
