// Finds the launcher of this process, and how its ranks reach each other.
#ifndef ZC_RUNTIME_COMM_LAUNCHER_H
#define ZC_RUNTIME_COMM_LAUNCHER_H

#include "runtime/Comm/Transport.h"

#include <memory>

namespace zc {

/// The transport among the processes that a launcher started, null where this
/// process is alone: MPI under mpirun and srun with PMI; TCP where RANK,
/// WORLD_SIZE, MASTER_ADDR and MASTER_PORT are set, or RANK, WORLD_SIZE and
/// ZC_RENDEZVOUS_FILE, a path that all ranks see, or under srun without PMI.
/// With TCP, ZC_TOKEN is a secret of all ranks, and ZC_BIND_ADDR the address
/// that this one listens on. Waits at most `timeout` seconds for the others.
Result<std::unique_ptr<Transport>> connectToLauncher(double timeout);

/// Fails where a launcher started more processes than this one.
Status checkNoLauncher();

/// Fails where MPI's launcher started this process.
Status checkNoMpi();

// A transport's plugin, `libzc_<kind>.so`, as Device/Plugin.h has it for
// devices.
constexpr int kTransportPluginVersion = 2;
using TransportPluginVersionFunction = int (*)();
/// Null when it cannot; `message` then says why, in at most `size` bytes.
using CreateTransportFunction = Transport *(*)(char *message, size_t size);
constexpr const char *kTransportPluginVersionSymbol =
    "zcTransportPluginVersion";
constexpr const char *kCreateTransportSymbol = "zcCreateTransport";

} // namespace zc

#endif // ZC_RUNTIME_COMM_LAUNCHER_H
