// How ranks find each other. Private to this folder.
#ifndef ZC_RUNTIME_COMM_TCP_RENDEZVOUS_H
#define ZC_RUNTIME_COMM_TCP_RENDEZVOUS_H

#include "runtime/Comm/Tcp/Socket.h"
#include "runtime/Comm/Tcp/Tcp.h"

#include <vector>

namespace zc::tcp {

/// To another rank: one line for messages and one for notes, which must not
/// wait behind them. Unopened to oneself.
struct Lines {
  Socket messages, notes;
};

/// The lines to all ranks.
Result<std::vector<Lines>> meet(const TcpPlace &place,
                                Clock::time_point deadline);

} // namespace zc::tcp

#endif // ZC_RUNTIME_COMM_TCP_RENDEZVOUS_H
