// Messages between roles that go by World, from the host's memory.
#ifndef ZC_RUNTIME_EXEC_HOSTLINES_H
#define ZC_RUNTIME_EXEC_HOSTLINES_H

#include "runtime/Exec/Executor.h"

#include <map>
#include <vector>

namespace zc {

class HostLines final : public MessageLines {
public:
  /// The executor must outlive it.
  explicit HostLines(Executor &executor) : executor(executor) {}

  Result<std::unique_ptr<MovingMessage>> post(const plan::Message &message,
                                              uint32_t slot) override;

private:
  char *hostBytes(const plan::Message &message, uint32_t slot);

  Executor &executor;
  /// Where the host cannot read the device's memory: a message's bytes, by
  /// message and slot.
  std::map<std::pair<const plan::Message *, uint32_t>, std::vector<char>>
      staged;
};

} // namespace zc

#endif // ZC_RUNTIME_EXEC_HOSTLINES_H
