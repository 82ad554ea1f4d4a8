// Collectives by schedules over a world's messages. Private to this folder.
#ifndef ZC_RUNTIME_COMM_GROUP_H
#define ZC_RUNTIME_COMM_GROUP_H

#include "runtime/Comm/World.h"

namespace zc {

std::unique_ptr<Communicator> makeGroup(World &world, std::vector<int> members,
                                        uint32_t channel);

} // namespace zc

#endif // ZC_RUNTIME_COMM_GROUP_H
