// Ranks that reach each other by TCP: every one is connected to every other.
#ifndef ZC_RUNTIME_COMM_TCP_TCP_H
#define ZC_RUNTIME_COMM_TCP_TCP_H

#include "runtime/Comm/Transport.h"

#include <chrono>
#include <memory>
#include <string>

namespace zc {

/// A rank's place, from the launcher's RANK, WORLD_SIZE, MASTER_ADDR,
/// MASTER_PORT, or with a file that all ranks see and to which rank 0 writes
/// its address.
struct TcpPlace {
  int rank = 0, size = 1;
  std::string host;       // where rank 0 is
  int port = 0;           // that rank 0 listens on
  std::string file = "";  // instead of host and port
  std::string token = ""; // that all ranks must know; empty: none
  // The address of this machine that is listened on; empty: all, and where host
  // is this machine's own loop, that alone.
  std::string address = "";
};

/// Returns when all ranks are connected. Rank 0 names those that do not come
/// in time; to the others it says that it does. Peers that do not know the
/// token are refused.
Result<std::unique_ptr<Transport>>
connectByTcp(const TcpPlace &place, std::chrono::milliseconds timeout);

} // namespace zc

#endif // ZC_RUNTIME_COMM_TCP_TCP_H
