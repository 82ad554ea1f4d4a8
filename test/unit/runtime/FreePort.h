// A port for ranks to meet at that no other program is given meanwhile.
#ifndef ZC_TEST_UNIT_RUNTIME_FREEPORT_H
#define ZC_TEST_UNIT_RUNTIME_FREEPORT_H

#include "runtime/Comm/Tcp/Socket.h"

#include <atomic>
#include <unistd.h>

namespace zc {

/// Below those that the kernel gives to connections (from 32768), so that only
/// another test could take it; tests of other processes begin elsewhere.
inline int freePort() {
  constexpr int kFirst = 10000, kCount = 20000;
  static std::atomic<int> next{int(::getpid()) * 64 % kCount};
  for (;;) {
    const int port = kFirst + next++ % kCount;
    if (tcp::listenOn(port).ok())
      return port;
  }
}

} // namespace zc

#endif // ZC_TEST_UNIT_RUNTIME_FREEPORT_H
