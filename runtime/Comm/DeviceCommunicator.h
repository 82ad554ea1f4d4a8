// A group whose collectives a device's library does (DeviceGroup.h), as the
// ranks of a World see it.
#ifndef ZC_RUNTIME_COMM_DEVICECOMMUNICATOR_H
#define ZC_RUNTIME_COMM_DEVICECOMMUNICATOR_H

#include "runtime/Comm/World.h"

namespace zc {

/// The ranks of `members`, in this order, meet by the plugin of `library`
/// ("nccl"), each with a stream of its device. Called by all of them; `channel`
/// as in World::group. Collectives are put on the stream and not waited for:
/// whoever waits for the stream asks check() meanwhile. Counts no bytes.
Result<std::unique_ptr<Communicator>>
joinDeviceGroup(World &world, const std::vector<int> &members, uint32_t channel,
                const std::string &library, void *stream);

} // namespace zc

#endif // ZC_RUNTIME_COMM_DEVICECOMMUNICATOR_H
