// Collectives that a device's own library puts on the device's streams: NCCL.
// The library comes with a plugin, `libzc_<library>.so`; ranks meet, wait for
// each other and fail by World, of which a plugin knows nothing.
#ifndef ZC_RUNTIME_COMM_DEVICEGROUP_H
#define ZC_RUNTIME_COMM_DEVICEGROUP_H

#include "runtime/Comm/Communicator.h"

#include <string>

namespace zc {

/// A rank's place in a group that is about to meet.
struct DeviceGroupPlace {
  int rank = 0, size = 1;
  std::string id;         // made by the group's first rank, told to all
  void *stream = nullptr; // of this rank's device: Device::nativeStream
};

class DeviceGroup {
public:
  /// Leaves together with the others, or after a few seconds without them.
  virtual ~DeviceGroup() = default;

  /// False while the library still makes ready what it was asked for: the
  /// meeting, a collective. Fails once it knows of an error, of whatever rank.
  virtual Result<bool> isReady() = 0;

  /// The collective's run() puts it on the stream and returns; the stream may
  /// be one that is captured.
  virtual Result<std::unique_ptr<Collective>>
  prepare(const CollectiveLaunch &launch) = 0;

  /// Ends what is under way, whoever waits for it; the group is of no use then.
  virtual void abort() = 0;
};

// Symbols that a plugin exports, with C linkage. Program and plugin must come
// from one build; the version number tells if they do not.
constexpr int kDeviceGroupPluginVersion = 1;
using DeviceGroupPluginVersionFunction = int (*)();
/// Makes the id that all ranks of a group must know to meet.
using MakeDeviceGroupIdFunction = void (*)(std::string &id, Status &status);
/// Begins to meet, and does not wait for the others; null when it cannot.
using JoinDeviceGroupFunction = DeviceGroup *(*)(const DeviceGroupPlace &place,
                                                 Status &status);
constexpr const char *kDeviceGroupPluginVersionSymbol =
    "zcDeviceGroupPluginVersion";
constexpr const char *kMakeDeviceGroupIdSymbol = "zcMakeDeviceGroupId";
constexpr const char *kJoinDeviceGroupSymbol = "zcJoinDeviceGroup";

} // namespace zc

#endif // ZC_RUNTIME_COMM_DEVICEGROUP_H
