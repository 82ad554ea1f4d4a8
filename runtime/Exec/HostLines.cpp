#include "runtime/Exec/HostLines.h"
#include "runtime/Plan/Types.h"

namespace zc {

namespace {

class HostMessage final : public MovingMessage {
public:
  HostMessage(Executor &executor, const plan::Message &message, uint32_t slot,
              const char *data, PostedMessage posted)
      : executor(executor), message(message), slot(slot), data(data),
        posted(std::move(posted)) {}

  Status await() override {
    ZC_RETURN_IF_ERROR(executor.world().await(posted));
    return message.sends() ? Status()
                           : executor.writeMessage(message, slot, data);
  }

private:
  Executor &executor;
  const plan::Message &message;
  const uint32_t slot;
  const char *const data;
  PostedMessage posted;
};

} // namespace

Result<std::unique_ptr<MovingMessage>>
HostLines::post(const plan::Message &message, uint32_t slot) {
  char *data = hostBytes(message, slot);
  if (message.sends())
    ZC_RETURN_IF_ERROR(executor.readMessage(message, slot, data));
  const int peer = peerOf(executor.mesh(), executor.world().rank(), message);
  ZC_ASSIGN_OR_RETURN(
      PostedMessage posted,
      executor.world().post(
          {message.sends(), peer, data, *byteCount(message.type())},
          kFirstLineChannel + message.line()));
  return std::unique_ptr<MovingMessage>(std::make_unique<HostMessage>(
      executor, message, slot, data, std::move(posted)));
}

/// The bytes of the message where the host can read them; else a copy of them
/// on the host.
char *HostLines::hostBytes(const plan::Message &message, uint32_t slot) {
  if (executor.hostReadsMemory())
    return executor.addressOf(message, slot);
  std::vector<char> &bytes = staged[{&message, slot}];
  bytes.resize(*byteCount(message.type()));
  return bytes.data();
}

} // namespace zc
