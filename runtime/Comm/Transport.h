// Moves bytes between ranks: threads of one process, MPI, TCP. It knows
// messages between two ranks and nothing of groups, time limits or failures;
// World adds those.
#ifndef ZC_RUNTIME_COMM_TRANSPORT_H
#define ZC_RUNTIME_COMM_TRANSPORT_H

#include "runtime/Base/Status.h"
#include "runtime/Plan/Channels.h"

#include <cstdint>
#include <optional>

namespace zc {

/// A message that has begun.
using RequestId = uint64_t;

/// A word between ranks that nobody has to ask for.
struct Note {
  enum Kind : int32_t {
    Failed, // the sender has failed, and says why where its user sees it
    Ask,    // whom do you wait for?
    Answer, // for `value`, or for nobody: -1
    Told,   // the sender, which had failed, has told its user why
  };
  Kind kind = Failed;
  int32_t from = 0;
  int32_t value = 0;
};

/// Channels from this one on are lines of messages that ranks send one another
/// by themselves; those below are of groups.
constexpr uint32_t kFirstLineChannel = kGroupChannels;

/// Explains that the two ends of a channel disagree on a message's bytes.
inline const char *explainMismatch(uint32_t channel) {
  return channel < kFirstLineChannel
             ? "they are not in the same collective"
             : "they do not send and receive the same message";
}

/// Every function may be called from several threads at once.
class Transport {
public:
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Begin a message; its bytes belong to the transport until it has finished.
  /// Messages between two ranks through one channel arrive in order; those of
  /// one channel never wait for those of another to be received.
  virtual Result<RequestId> send(int peer, uint32_t channel, const void *data,
                                 uint64_t bytes) = 0;
  virtual Result<RequestId> receive(int peer, uint32_t channel, void *data,
                                    uint64_t bytes) = 0;

  /// Whether the message has finished, after which its id is spent; also moves
  /// others along. Fails when the peer is gone.
  virtual Result<bool> finished(RequestId request) = 0;

  /// Lets go of a message that will not be waited for: after it returns,
  /// nobody touches its bytes, as far as the transport can help it.
  virtual void cancel(RequestId request) = 0;

  /// Rests a moment at most, or until something has happened since ticket().
  virtual uint64_t ticket() = 0;
  virtual void pause(uint64_t ticket) = 0;

  /// Moves along what has begun, though nobody waits for it, and rests a moment
  /// at most. False: messages of this transport need no such help.
  virtual bool moveAlong() = 0;

  /// Notes may be lost when a rank is gone, and cost no one a wait.
  virtual void sendNote(int peer, const Note &note) = 0;
  virtual std::optional<Note> nextNote() = 0;

  /// Ends the connection; `failed`: others may be gone. No call after this.
  virtual void close(bool failed) = 0;
};

} // namespace zc

#endif // ZC_RUNTIME_COMM_TRANSPORT_H
