#include "runtime/Exec/DeviceLines.h"
#include "runtime/Comm/DeviceCommunicator.h"
#include "runtime/Plan/Types.h"

#include <set>
#include <tuple>

namespace zc {

/// A message that the line's stream works on, and the event behind it: the
/// stream itself may already wait for later messages.
class DeviceLines::Moving final : public MovingMessage {
public:
  Moving(DeviceLines &lines, Line &line, EventId event)
      : lines(lines), line(line), event(event) {}
  ~Moving() override {
    // The library takes nothing back but all.
    if (!hasEnded)
      lines.abort();
  }

  Status await() override {
    ZC_RETURN_IF_ERROR(lines.await(event));
    hasEnded = true;
    line.idle.push_back(event);
    return Status();
  }

private:
  DeviceLines &lines;
  Line &line;
  const EventId event;
  bool hasEnded = false;
};

bool DeviceLines::Ends::operator<(const Ends &other) const {
  return std::tie(line, sender, receiver) <
         std::tie(other.line, other.sender, other.receiver);
}

DeviceLines::Ends DeviceLines::endsOf(int role, const plan::Message &message) {
  const int peer = int(message.peer());
  return message.sends() ? Ends{message.line(), role, peer}
                         : Ends{message.line(), peer, role};
}

/// Joining waits for the other end: all ranks go through all lines in one
/// order, so that none waits for one that waits for it.
Status DeviceLines::connect(const Artifact &artifact,
                            const std::string &library,
                            const AddressOf &addressOf) {
  role = mesh.role(world.rank());
  std::map<Ends, const plan::Message *> ours;
  for (const plan::Message &message : artifact.role().messages())
    ours.emplace(endsOf(role, message), &message);
  for (const auto &[ends, first] : ours)
    ZC_RETURN_IF_ERROR(join(ends, *first, library, addressOf(*first, 0)));
  for (const plan::Message &message : artifact.role().messages()) {
    Line &line = lines.at(endsOf(role, message));
    const uint32_t slots = artifact.role().rings(int(message.ring())).slots();
    for (uint32_t slot = 0; slot < slots; ++slot) {
      ZC_ASSIGN_OR_RETURN(
          auto collective,
          prepare(line, addressOf(message, slot), *byteCount(message.type())));
      collectives[{&message, slot}] = std::move(collective);
    }
  }
  return Status();
}

/// The two ranks meet by the line's own channel, which is theirs alone. A first
/// collective of one byte makes the library connect them: it does so late, and
/// a message that is posted must not wait for the other end.
Status DeviceLines::join(const Ends &ends, const plan::Message &first,
                         const std::string &library, char *address) {
  const int peer = peerOf(mesh, world.rank(), first);
  const std::vector<int> members = first.sends()
                                       ? std::vector<int>{world.rank(), peer}
                                       : std::vector<int>{peer, world.rank()};
  Line &line = lines[ends];
  ZC_ASSIGN_OR_RETURN(line.stream, device.addStream());
  ZC_ASSIGN_OR_RETURN(void *native, device.nativeStream(line.stream));
  ZC_ASSIGN_OR_RETURN(line.group, joinDeviceGroup(world, members,
                                                  kFirstLineChannel + ends.line,
                                                  library, native));
  ZC_ASSIGN_OR_RETURN(EventId event, device.createEvent());
  ZC_ASSIGN_OR_RETURN(auto byte, prepare(line, address, 1));
  ZC_RETURN_IF_ERROR(run(line, *byte, event));
  ZC_RETURN_IF_ERROR(await(event));
  line.idle.push_back(event);
  return Status();
}

/// A message is a broadcast by the sender to a group of two.
Result<std::unique_ptr<Collective>>
DeviceLines::prepare(Line &line, char *address, uint64_t bytes) {
  CollectiveLaunch launch;
  launch.shape.kind = plan::BROADCAST;
  launch.shape.ranks = 2;
  launch.shape.elements = int64_t(bytes);
  launch.shape.elementBytes = 1;
  launch.shape.root = 0; // members begin with the sender
  launch.type = ElementType::U8;
  launch.source = address;
  launch.destination = address;
  return line.group->prepare(launch);
}

Status DeviceLines::run(Line &line, Collective &collective, EventId event) {
  // The library finds the device by the thread.
  ZC_RETURN_IF_ERROR(device.nativeStream(line.stream).status());
  ZC_RETURN_IF_ERROR(collective.run());
  return device.record(event, line.stream);
}

Result<std::unique_ptr<MovingMessage>>
DeviceLines::post(const plan::Message &message, uint32_t slot) {
  Line &line = lines.at(endsOf(role, message));
  if (line.idle.empty()) {
    ZC_ASSIGN_OR_RETURN(EventId event, device.createEvent());
    line.idle.push_back(event);
  }
  const EventId event = line.idle.back();
  line.idle.pop_back();
  // From here on the stream may work on the slot, whether it fails or not.
  auto moving = std::make_unique<Moving>(*this, line, event);
  ZC_RETURN_IF_ERROR(run(line, *collectives.at({&message, slot}), event));
  return std::unique_ptr<MovingMessage>(std::move(moving));
}

/// Ranks that fail or do not come would keep a device waiting for ever.
Status DeviceLines::await(EventId event) {
  Status status = world.waitFor([&]() -> Result<bool> {
    ZC_RETURN_IF_ERROR(check());
    return device.hasPassed(event);
  });
  if (!status.ok())
    abort();
  return status;
}

Status DeviceLines::check() {
  for (auto &[ends, line] : lines)
    if (line.group)
      ZC_RETURN_IF_ERROR(line.group->check());
  return Status();
}

void DeviceLines::abort() {
  for (auto &[ends, line] : lines)
    if (line.group)
      line.group->abort();
}

} // namespace zc
