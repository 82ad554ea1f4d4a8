// How ranks find each other. Private to this folder.
#ifndef ZC_RUNTIME_COMM_TCP_RENDEZVOUS_H
#define ZC_RUNTIME_COMM_TCP_RENDEZVOUS_H

#include "runtime/Comm/Tcp/Socket.h"
#include "runtime/Comm/Tcp/Tcp.h"

#include <vector>

namespace zc::tcp {

/// To another rank: one line for messages and one for notes, which must not
/// wait behind them. Unopened to oneself, and to a rank that has died since it
/// reached rank 0.
struct Lines {
  Socket messages, notes;
};

/// The lines to all ranks. Fails where not all have reached rank 0 in time, and
/// where rank 0 has died or stands still.
Result<std::vector<Lines>> meet(const TcpPlace &place,
                                std::chrono::milliseconds timeout);

} // namespace zc::tcp

#endif // ZC_RUNTIME_COMM_TCP_RENDEZVOUS_H
