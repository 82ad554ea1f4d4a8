#include "runtime/Comm/DeviceCommunicator.h"
#include "runtime/Base/Plugin.h"
#include "runtime/Comm/DeviceGroup.h"

#include <algorithm>

namespace zc {
namespace {

constexpr uint64_t kMostIdBytes = 1024;

struct GroupLibrary {
  MakeDeviceGroupIdFunction makeId;
  JoinDeviceGroupFunction join;
};

Result<GroupLibrary> openGroupLibrary(const std::string &kind) {
  ZC_ASSIGN_OR_RETURN(PluginLibrary library, openPlugin(kind, kind));
  auto version = reinterpret_cast<DeviceGroupPluginVersionFunction>(
      library.symbol(kDeviceGroupPluginVersionSymbol));
  GroupLibrary found = {reinterpret_cast<MakeDeviceGroupIdFunction>(
                            library.symbol(kMakeDeviceGroupIdSymbol)),
                        reinterpret_cast<JoinDeviceGroupFunction>(
                            library.symbol(kJoinDeviceGroupSymbol))};
  if (!version || !found.makeId || !found.join ||
      version() != kDeviceGroupPluginVersion)
    return makeError(StatusCode::Unsupported, "'", library.path,
                     "' comes from another build of zc");
  return found;
}

class DeviceCommunicator final : public Communicator {
public:
  DeviceCommunicator(World &world, std::unique_ptr<DeviceGroup> group,
                     const DeviceGroupPlace &place)
      : world(world), group(std::move(group)), theRank(place.rank),
        theSize(place.size) {}
  ~DeviceCommunicator() override {
    // The others may be gone.
    if (world.hasFailed())
      group->abort();
  }

  int rank() const override { return theRank; }
  int size() const override { return theSize; }
  uint64_t sentBytes() const override { return 0; }

  Result<std::unique_ptr<Collective>>
  prepare(const CollectiveLaunch &launch) override;

  Status check() override { return group->isReady().status(); }
  void abort() override { group->abort(); }

  /// Waits until the library has made ready what it was asked for.
  Status settle() {
    return world.waitFor([this] { return group->isReady(); });
  }

private:
  World &world;
  std::unique_ptr<DeviceGroup> group;
  const int theRank, theSize;
};

class Enqueued final : public Collective {
public:
  Enqueued(DeviceCommunicator &group, std::unique_ptr<Collective> collective)
      : group(group), collective(std::move(collective)) {}

  Status run() override {
    ZC_RETURN_IF_ERROR(collective->run());
    return group.settle();
  }

private:
  DeviceCommunicator &group;
  std::unique_ptr<Collective> collective;
};

Result<std::unique_ptr<Collective>>
DeviceCommunicator::prepare(const CollectiveLaunch &launch) {
  assert(launch.shape.ranks == size() && "a collective is of its whole group");
  ZC_ASSIGN_OR_RETURN(auto collective, group->prepare(launch));
  return std::unique_ptr<Collective>(
      std::make_unique<Enqueued>(*this, std::move(collective)));
}

/// Everyone in the group gets its first rank's id.
Status shareId(Communicator &messages, const GroupLibrary &library,
               std::string &id) {
  Status status;
  if (messages.rank() == 0)
    library.makeId(id, status);
  ZC_RETURN_IF_ERROR(status);
  id.resize(kMostIdBytes);
  return messages.broadcast(id.data(), id.size(), 0);
}

} // namespace

Result<std::unique_ptr<Communicator>>
joinDeviceGroup(World &world, const std::vector<int> &members, uint32_t channel,
                const std::string &library, void *stream) {
  ZC_ASSIGN_OR_RETURN(GroupLibrary functions, openGroupLibrary(library));
  std::unique_ptr<Communicator> messages = world.group(members, channel);
  DeviceGroupPlace place;
  place.rank = messages->rank();
  place.size = messages->size();
  place.stream = stream;
  ZC_RETURN_IF_ERROR(shareId(*messages, functions, place.id));
  Status status;
  std::unique_ptr<DeviceGroup> group(functions.join(place, status));
  if (!group)
    return status;
  auto communicator =
      std::make_unique<DeviceCommunicator>(world, std::move(group), place);
  ZC_RETURN_IF_ERROR(communicator->settle());
  return std::unique_ptr<Communicator>(std::move(communicator));
}

} // namespace zc
