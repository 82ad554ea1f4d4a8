// TCP sockets that know deadlines. Private to this folder.
#ifndef ZC_RUNTIME_COMM_TCP_SOCKET_H
#define ZC_RUNTIME_COMM_TCP_SOCKET_H

#include "runtime/Base/Status.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace zc::tcp {

using Clock = std::chrono::steady_clock;

class Socket {
public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor(descriptor) {}
  Socket(Socket &&other) noexcept
      : descriptor(std::exchange(other.descriptor, -1)) {}
  Socket &operator=(Socket &&other) noexcept {
    std::swap(descriptor, other.descriptor);
    return *this;
  }
  ~Socket();

  bool isOpen() const { return descriptor >= 0; }
  int get() const { return descriptor; }

  /// All of the bytes, or a failure at the deadline.
  Status write(const void *data, size_t bytes, Clock::time_point deadline);
  Status read(void *data, size_t bytes, Clock::time_point deadline);

  /// Reads up to `bytes` that have arrived; returns how many. Fails once the
  /// other side has gone.
  Result<size_t> readSome(void *data, size_t bytes);
  /// Whether there is something to read, or the other side has gone.
  bool hasInput() const;

private:
  int descriptor = -1;
};

/// An IPv4 or IPv6 address as the system has it.
struct Address {
  uint8_t bytes[32] = {};
  uint32_t size = 0;
};

/// Listens on a port of an address or name of this machine's; of none, of all
/// interfaces, by IPv6 and IPv4 or by what there is of them. Port 0: any free.
Result<Socket> listenOn(int port, const std::string &address = "");
Result<int> portOf(const Socket &socket);
/// The address at the other end, with another port. IPv4 inside IPv6 becomes
/// IPv4, which a machine without the other reaches as well.
Result<Address> peerOf(const Socket &socket, int port);

/// A connection that waits, or an unopened socket.
Result<Socket> acceptFrom(const Socket &listener);

/// Rests until one of the descriptors has something to read, or the deadline.
void waitForAny(const std::vector<int> &descriptors,
                Clock::time_point deadline);

/// One try, of a few seconds at most.
Result<Socket> connectOnce(const Address &address, Clock::time_point deadline);
/// Tries until the deadline.
Result<Socket> connectTo(const Address &address, Clock::time_point deadline);
Result<Socket> connectTo(const std::string &host, int port,
                         Clock::time_point deadline);

} // namespace zc::tcp

#endif // ZC_RUNTIME_COMM_TCP_SOCKET_H
