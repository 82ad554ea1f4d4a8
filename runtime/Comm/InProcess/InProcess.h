// Ranks that are threads of one process.
#ifndef ZC_RUNTIME_COMM_INPROCESS_INPROCESS_H
#define ZC_RUNTIME_COMM_INPROCESS_INPROCESS_H

#include "runtime/Comm/World.h"

#include <memory>
#include <vector>

namespace zc {

/// Connected worlds, one a rank, each for a thread of its own.
std::vector<std::unique_ptr<World>> createInProcessRanks(int size);

} // namespace zc

#endif // ZC_RUNTIME_COMM_INPROCESS_INPROCESS_H
