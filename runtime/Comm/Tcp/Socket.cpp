#include "runtime/Comm/Tcp/Socket.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace zc::tcp {

static constexpr std::chrono::milliseconds kRetry(50);
// A host may have several addresses, of which one swallows all that is sent.
static constexpr std::chrono::seconds kTryTime(3);
static_assert(sizeof(Address::bytes) >= sizeof(sockaddr_in6));

static int millisecondsTo(Clock::time_point deadline) {
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - Clock::now());
  return int(std::clamp<int64_t>(left.count(), 0, 1000 * 1000));
}

/// Whether the socket becomes ready before the deadline.
static bool waitFor(int descriptor, short events, Clock::time_point deadline) {
  pollfd entry{descriptor, events, 0};
  while (true) {
    int count = ::poll(&entry, 1, millisecondsTo(deadline));
    if (count != 0 && !(count < 0 && errno == EINTR))
      return true;
    if (Clock::now() >= deadline)
      return false;
  }
}

static Result<Socket> prepared(int descriptor) {
  Socket socket(descriptor);
  if (descriptor < 0)
    return errnoError("cannot open a connection");
  int yes = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  ::fcntl(descriptor, F_SETFL, O_NONBLOCK);
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return socket;
}

Socket::~Socket() {
  if (descriptor >= 0)
    ::close(descriptor);
}

Status Socket::write(const void *data, size_t bytes,
                     Clock::time_point deadline) {
  const char *from = static_cast<const char *>(data);
  while (bytes > 0) {
    ssize_t count = ::send(descriptor, from, bytes, MSG_NOSIGNAL);
    if (count > 0) {
      from += count;
      bytes -= size_t(count);
    } else if (errno != EAGAIN && errno != EINTR) {
      return errnoError("the connection broke");
    } else if (!waitFor(descriptor, POLLOUT, deadline)) {
      return Status(StatusCode::DeadlineExceeded, "the other side is silent");
    }
  }
  return Status();
}

Status Socket::read(void *data, size_t bytes, Clock::time_point deadline) {
  char *to = static_cast<char *>(data);
  while (bytes > 0) {
    ssize_t count = ::recv(descriptor, to, bytes, 0);
    if (count > 0) {
      to += count;
      bytes -= size_t(count);
    } else if (count == 0) {
      return Status(StatusCode::IoError, "the other side has gone");
    } else if (errno != EAGAIN && errno != EINTR) {
      return errnoError("the connection broke");
    } else if (!waitFor(descriptor, POLLIN, deadline)) {
      return Status(StatusCode::DeadlineExceeded, "the other side is silent");
    }
  }
  return Status();
}

Result<size_t> Socket::readSome(void *data, size_t bytes) {
  ssize_t count = ::recv(descriptor, data, bytes, 0);
  if (count > 0)
    return size_t(count);
  if (count < 0 && (errno == EAGAIN || errno == EINTR))
    return size_t(0);
  return Status(StatusCode::IoError, "the other side has gone");
}

bool Socket::hasInput() const {
  pollfd entry{descriptor, POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0;
}

/// `error`: why not, as errno has it.
static Result<Socket> listenBy(const sockaddr *address, socklen_t size,
                               int &error) {
  const int descriptor = ::socket(address->sa_family, SOCK_STREAM, 0);
  error = errno;
  ZC_ASSIGN_OR_RETURN(Socket socket, prepared(descriptor));
  int yes = 1, no = 0;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (address->sa_family == AF_INET6)
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
  if (::bind(socket.get(), address, size) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0) {
    error = errno;
    // The port lies at the same place in both families.
    const int port =
        ntohs(reinterpret_cast<const sockaddr_in *>(address)->sin_port);
    return errnoError(strCat("cannot listen on port ", port), error);
  }
  return socket;
}

/// Listens on all interfaces: address zero, in both families.
static Result<Socket> listenOnAll(int family, int port, int &error) {
  sockaddr_in6 address = {};
  address.sin6_family = sa_family_t(family);
  address.sin6_port = htons(uint16_t(port));
  return listenBy(
      reinterpret_cast<const sockaddr *>(&address),
      family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in), error);
}

static Result<Socket> listenOnOne(const std::string &address, int port) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  const int code = ::getaddrinfo(address.c_str(), std::to_string(port).c_str(),
                                 &hints, &found);
  if (code != 0)
    return makeError(StatusCode::InvalidArgument, "'", address,
                     "': ", ::gai_strerror(code));
  Result<Socket> socket = Status(StatusCode::NotFound, "no address");
  for (addrinfo *each = found; each && !socket.ok(); each = each->ai_next) {
    int error = 0;
    socket = listenBy(each->ai_addr, each->ai_addrlen, error);
    // Another program's port is not to be had by another family.
    if (!socket.ok() && error == EADDRINUSE)
      break;
  }
  ::freeaddrinfo(found);
  return socket.ok() ? std::move(socket)
                     : socket.status().withContext("'" + address + "'");
}

Result<Socket> listenOn(int port, const std::string &address) {
  if (!address.empty())
    return listenOnOne(address, port);
  int error = 0;
  Result<Socket> both = listenOnAll(AF_INET6, port, error);
  // A port that is taken or forbidden is so for IPv4 as well.
  if (both.ok() || error == EADDRINUSE || error == EACCES)
    return both;
  return listenOnAll(AF_INET, port, error);
}

Result<int> portOf(const Socket &socket) {
  sockaddr_in6 address = {};
  socklen_t size = sizeof(address);
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr *>(&address),
                    &size) != 0)
    return errnoError("cannot find a port");
  return int(ntohs(address.sin6_port));
}

Result<Address> peerOf(const Socket &socket, int port) {
  sockaddr_in6 peer = {};
  socklen_t size = sizeof(peer);
  if (::getpeername(socket.get(), reinterpret_cast<sockaddr *>(&peer), &size) !=
      0)
    return errnoError("the connection broke");
  Address address;
  if (IN6_IS_ADDR_V4MAPPED(&peer.sin6_addr) && peer.sin6_family == AF_INET6) {
    sockaddr_in inner = {};
    inner.sin_family = AF_INET;
    std::memcpy(&inner.sin_addr, peer.sin6_addr.s6_addr + 12, 4);
    size = sizeof(inner);
    std::memcpy(&peer, &inner, size);
  }
  // The port lies at the same place in both families.
  peer.sin6_port = htons(uint16_t(port));
  std::memcpy(address.bytes, &peer, size);
  address.size = uint32_t(size);
  return address;
}

Result<Socket> acceptFrom(const Socket &listener) {
  int descriptor = ::accept(listener.get(), nullptr, nullptr);
  if (descriptor >= 0)
    return prepared(descriptor);
  if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
    return errnoError("cannot accept a connection");
  return Socket();
}

void waitForAny(const std::vector<int> &descriptors,
                Clock::time_point deadline) {
  std::vector<pollfd> entries;
  for (int descriptor : descriptors)
    entries.push_back({descriptor, POLLIN, 0});
  ::poll(entries.data(), entries.size(), millisecondsTo(deadline));
}

Result<Socket> connectOnce(const Address &address, Clock::time_point deadline) {
  deadline = std::min(deadline, Clock::now() + kTryTime);
  const auto *name = reinterpret_cast<const sockaddr *>(address.bytes);
  ZC_ASSIGN_OR_RETURN(Socket socket,
                      prepared(::socket(name->sa_family, SOCK_STREAM, 0)));
  if (::connect(socket.get(), name, address.size) == 0)
    return socket;
  if (errno != EINPROGRESS)
    return errnoError("cannot connect");
  if (!waitFor(socket.get(), POLLOUT, deadline))
    return Status(StatusCode::DeadlineExceeded, "cannot connect: no answer");
  int error = 0;
  socklen_t size = sizeof(error);
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0)
    return errnoError("cannot connect", error);
  return socket;
}

Result<Socket> connectTo(const Address &address, Clock::time_point deadline) {
  while (true) {
    Result<Socket> socket = connectOnce(address, deadline);
    if (socket.ok() || Clock::now() + kRetry >= deadline)
      return socket;
    std::this_thread::sleep_for(kRetry);
  }
}

Result<Socket> connectTo(const std::string &host, int port,
                         Clock::time_point deadline) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  while (true) {
    int code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints,
                             &found);
    Status status(StatusCode::NotFound,
                  code ? ::gai_strerror(code) : "no address");
    for (addrinfo *each = code ? nullptr : found; each; each = each->ai_next) {
      Address address;
      if (each->ai_addrlen > sizeof(address.bytes))
        continue;
      address.size = uint32_t(each->ai_addrlen);
      std::memcpy(address.bytes, each->ai_addr, each->ai_addrlen);
      Result<Socket> socket = connectOnce(address, deadline);
      if (socket.ok()) {
        ::freeaddrinfo(found);
        return socket;
      }
      status = socket.status();
    }
    if (code == 0)
      ::freeaddrinfo(found);
    if (Clock::now() + kRetry >= deadline)
      return status;
    std::this_thread::sleep_for(kRetry);
  }
}

} // namespace zc::tcp
