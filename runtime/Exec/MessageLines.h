// How the messages between the roles of a pipeline move: by the host (World),
// or by a device's library from memory to memory.
#ifndef ZC_RUNTIME_EXEC_MESSAGELINES_H
#define ZC_RUNTIME_EXEC_MESSAGELINES_H

#include "runtime/Base/Status.h"
#include "runtime/Plan/Mesh.h"

#include <memory>

namespace zc {

/// One end of a message that is under way. Where it is destroyed before it has
/// ended, nobody touches its slot any more, and it does not arrive.
class MovingMessage {
public:
  virtual ~MovingMessage() = default;

  /// Waits for its end, with the limits and failures of World: then the source
  /// may be overwritten, and received bytes are in their slot.
  virtual Status await() = 0;
};

/// Used by one thread.
class MessageLines {
public:
  virtual ~MessageLines() = default;

  /// Begins this rank's end of a message, which lies in this slot of its ring:
  /// a sender has written it, a receiver may overwrite it. Does not wait for
  /// the other end. Both ends begin the messages of a line in one order.
  virtual Result<std::unique_ptr<MovingMessage>>
  post(const plan::Message &message, uint32_t slot) = 0;
};

/// The rank at the other end of a message of `rank`: it has the same
/// coordinates along all axes but "pp".
inline int peerOf(const Mesh &mesh, int rank, const plan::Message &message) {
  AxisNames roles;
  roles.Add(axes::kRole);
  return mesh.group(rank, roles).at(message.peer());
}

} // namespace zc

#endif // ZC_RUNTIME_EXEC_MESSAGELINES_H
