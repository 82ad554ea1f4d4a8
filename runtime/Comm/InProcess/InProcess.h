// Ranks that are threads of one process.
#ifndef ZC_RUNTIME_COMM_INPROCESS_INPROCESS_H
#define ZC_RUNTIME_COMM_INPROCESS_INPROCESS_H

#include "runtime/Comm/Communicator.h"

#include <memory>
#include <vector>

namespace zc {

/// Connected communicators, one a rank. Each is used by one thread at a time;
/// a failure of one ends the waiting of all.
std::vector<std::unique_ptr<Communicator>> createInProcessRanks(int size);

} // namespace zc

#endif // ZC_RUNTIME_COMM_INPROCESS_INPROCESS_H
