// How many channels tell the messages of two ranks apart. A transport may have
// few: MPI's tags are sure to reach 32767, no more.
#ifndef ZC_RUNTIME_PLAN_CHANNELS_H
#define ZC_RUNTIME_PLAN_CHANNELS_H

#include <cstdint>

namespace zc {

/// Channels of groups of ranks; the driver's own group has the first.
constexpr uint32_t kGroupChannels = 1 << 14;
/// Channels of lines of messages, which come behind those of groups.
constexpr uint32_t kLineChannels = (1 << 14) - 1;

} // namespace zc

#endif // ZC_RUNTIME_PLAN_CHANNELS_H
