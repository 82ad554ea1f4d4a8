// Messages between roles that a device's library moves from memory to memory:
// each line is a group of its two ranks with a stream of its own, so that no
// message waits for one of another line.
#ifndef ZC_RUNTIME_EXEC_DEVICELINES_H
#define ZC_RUNTIME_EXEC_DEVICELINES_H

#include "runtime/Comm/World.h"
#include "runtime/Device/Device.h"
#include "runtime/Exec/MessageLines.h"
#include "runtime/Plan/Artifact.h"

#include <functional>
#include <map>
#include <vector>

namespace zc {

class DeviceLines final : public MessageLines {
public:
  /// Where a message of this rank's role lies that has this slot of its ring.
  using AddressOf =
      std::function<char *(const plan::Message &message, uint32_t slot)>;

  /// Device, world and mesh must outlive it.
  DeviceLines(Device &device, World &world, const Mesh &mesh)
      : device(device), world(world), mesh(mesh) {}
  ~DeviceLines() override = default;

  /// Called by all ranks, before they run programs: joins the lines of this
  /// rank and makes the messages of the artifact's role ready. `library` as in
  /// joinDeviceGroup. Writes to slots, which hold nothing yet.
  Status connect(const Artifact &artifact, const std::string &library,
                 const AddressOf &addressOf);

  Result<std::unique_ptr<MovingMessage>> post(const plan::Message &message,
                                              uint32_t slot) override;

private:
  class Moving;

  /// A line and its ends, in the order in which all ranks join.
  struct Ends {
    uint32_t line;
    int sender, receiver; // roles
    bool operator<(const Ends &other) const;
  };
  struct Line {
    StreamId stream = 0;
    std::unique_ptr<Communicator> group;
    std::vector<EventId> idle; // events that nobody waits for
  };

  static Ends endsOf(int role, const plan::Message &message);
  Status join(const Ends &ends, const plan::Message &first,
              const std::string &library, char *address);
  Result<std::unique_ptr<Collective>> prepare(Line &line, char *address,
                                              uint64_t bytes);
  Status run(Line &line, Collective &collective, EventId event);
  Status await(EventId event);
  Status check();
  void abort();

  Device &device;
  World &world;
  const Mesh &mesh;
  int role = 0; // of this rank
  std::map<Ends, Line> lines;
  /// By message and slot.
  std::map<std::pair<const plan::Message *, uint32_t>,
           std::unique_ptr<Collective>>
      collectives;
};

} // namespace zc

#endif // ZC_RUNTIME_EXEC_DEVICELINES_H
