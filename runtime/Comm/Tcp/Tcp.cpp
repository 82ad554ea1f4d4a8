#include "runtime/Comm/Tcp/Tcp.h"
#include "runtime/Comm/Tcp/Rendezvous.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <poll.h>
#include <sys/socket.h>

namespace zc {
namespace {

using namespace tcp;

constexpr int kRestMilliseconds = 1;
constexpr std::chrono::milliseconds kLastWords(300);

struct Frame {
  uint32_t channel = 0, magic = 0x7a63;
  uint64_t bytes = 0;
};
/// A frame without bytes that says: a message of this line may come.
constexpr uint32_t kReadyMagic = 0x7a64;

class Tcp final : public Transport {
public:
  Tcp(const TcpPlace &place, std::vector<Lines> lines)
      : theRank(place.rank), theSize(place.size), peers(lines.size()) {
    for (size_t r = 0; r < lines.size(); ++r) {
      peers[r].gone = !lines[r].messages.isOpen() || !lines[r].notes.isOpen();
      peers[r].lines = std::move(lines[r]);
    }
  }

  int rank() const override { return theRank; }
  int size() const override { return theSize; }

  Result<RequestId> send(int peer, uint32_t channel, const void *data,
                         uint64_t bytes) override;
  Result<RequestId> receive(int peer, uint32_t channel, void *data,
                            uint64_t bytes) override;
  Result<bool> finished(RequestId id) override;
  void cancel(RequestId id) override;
  uint64_t ticket() override { return 0; }
  void pause(uint64_t) override;
  bool moveAlong() override {
    pause(0);
    return true;
  }
  void sendNote(int peer, const Note &note) override;
  std::optional<Note> nextNote() override;
  void close(bool failed) override;

private:
  using Lock = std::lock_guard<std::mutex>;

  struct Request {
    int peer = 0;
    uint32_t channel = 0;
    bool isSend = false, done = false;
    Frame frame;
    char *data = nullptr;
    uint64_t moved = 0; // bytes of data; of a send, of frame and data
    Status failure;
  };
  struct Peer {
    Lines lines;
    bool gone = false;
    std::deque<RequestId> sends; // the first is on its way
    std::map<uint32_t, std::deque<RequestId>> receives; // by channel
    // All channels share one connection, where a message that nobody waits for
    // yet would block those behind it. So messages of a line are held back
    // until the other end is ready for them; those of groups, which are few,
    // are kept here if they come before they are waited for.
    std::map<uint32_t, std::deque<RequestId>> held;
    std::map<uint32_t, uint64_t> ready; // how many, by line
    std::map<uint32_t, std::deque<std::vector<char>>> early;
    Frame incoming;
    size_t incomingBytes = 0; // of the frame
    RequestId receiving = 0;  // what the payload goes to, or:
    bool keeping = false;
    std::vector<char> kept;
    size_t keptBytes = 0; // that have come
    Note note;
    size_t noteBytes = 0;
    bool notesEnded = false;
  };

  RequestId add(Request request);
  void sayReady(int peer, uint32_t channel);
  void heard(Peer &peer);
  static bool mustKeep(const Peer &peer);
  void startKeeping(Peer &peer);
  bool readKept(Peer &peer);
  void deliver(Peer &peer, Request &request, const std::vector<char> &bytes);
  Status mismatch(const Request &request, uint64_t sent) const;
  void moveAll();
  void moveSends(Peer &peer);
  void moveReceives(Peer &peer);
  bool readFrame(Peer &peer);
  bool matchFrame(Peer &peer);
  bool readPayload(Peer &peer);
  void moveNotes(Peer &peer);
  bool wait(Peer &peer, ssize_t count);

  const int theRank, theSize;
  std::mutex mutex; // of what follows
  std::vector<Peer> peers;
  RequestId last = 0;
  std::map<RequestId, Request> requests;
  std::deque<Note> notes;
};

RequestId Tcp::add(Request request) {
  requests[++last] = std::move(request);
  return last;
}

Result<RequestId> Tcp::send(int peer, uint32_t channel, const void *data,
                            uint64_t bytes) {
  Lock lock(mutex);
  Request request;
  request.peer = peer;
  request.channel = channel;
  request.isSend = true;
  request.frame.channel = channel;
  request.frame.bytes = bytes;
  request.data = const_cast<char *>(static_cast<const char *>(data));
  RequestId id = add(std::move(request));
  Peer &to = peers[size_t(peer)];
  if (channel < kFirstLineChannel) {
    to.sends.push_back(id);
  } else if (uint64_t &ready = to.ready[channel]; ready > 0) {
    --ready;
    to.sends.push_back(id);
  } else {
    to.held[channel].push_back(id);
  }
  moveSends(to);
  return id;
}

/// Tells the other end that a message of a line may come.
void Tcp::sayReady(int peer, uint32_t channel) {
  Request request;
  request.peer = peer;
  request.isSend = true;
  request.frame.channel = channel;
  request.frame.magic = kReadyMagic;
  Peer &to = peers[size_t(peer)];
  to.sends.push_back(add(std::move(request)));
  moveSends(to);
}

/// The other end is ready for a message of a line.
void Tcp::heard(Peer &peer) {
  const uint32_t line = peer.incoming.channel;
  peer.incomingBytes = 0;
  auto &held = peer.held[line];
  if (held.empty()) {
    ++peer.ready[line];
    return;
  }
  peer.sends.push_back(held.front());
  held.pop_front();
  moveSends(peer);
}

Result<RequestId> Tcp::receive(int peer, uint32_t channel, void *data,
                               uint64_t bytes) {
  Lock lock(mutex);
  Request request;
  request.peer = peer;
  request.channel = channel;
  request.frame.bytes = bytes;
  request.data = static_cast<char *>(data);
  RequestId id = add(std::move(request));
  Peer &from = peers[size_t(peer)];
  auto &early = from.early[channel];
  if (early.empty()) {
    from.receives[channel].push_back(id);
  } else {
    deliver(from, requests[id], early.front());
    early.pop_front();
  }
  if (channel >= kFirstLineChannel)
    sayReady(peer, channel);
  return id;
}

Status Tcp::mismatch(const Request &request, uint64_t sent) const {
  return makeError(StatusCode::Internal, "rank ", request.peer, " sent ", sent,
                   " bytes, but rank ", theRank, " expected ",
                   request.frame.bytes, ": ", explainMismatch(request.channel));
}

void Tcp::deliver(Peer &peer, Request &request,
                  const std::vector<char> &bytes) {
  if (request.frame.bytes != bytes.size()) {
    request.failure = mismatch(request, bytes.size());
    peer.gone = true;
    return;
  }
  std::copy(bytes.begin(), bytes.end(), request.data);
  request.done = true;
}

/// Whether to wait, after a read or a write that moved nothing.
bool Tcp::wait(Peer &peer, ssize_t count) {
  if (count < 0 && (errno == EAGAIN || errno == EINTR))
    return true;
  peer.gone = true;
  return false;
}

void Tcp::moveSends(Peer &peer) {
  while (!peer.gone && !peer.sends.empty()) {
    Request &request = requests[peer.sends.front()];
    const uint64_t head = sizeof(Frame);
    iovec parts[2];
    int count = 0;
    if (request.moved < head)
      parts[count++] = {reinterpret_cast<char *>(&request.frame) +
                            request.moved,
                        size_t(head - request.moved)};
    const uint64_t sent = request.moved > head ? request.moved - head : 0;
    if (sent < request.frame.bytes)
      parts[count++] = {request.data + sent,
                        size_t(request.frame.bytes - sent)};
    msghdr message = {};
    message.msg_iov = parts;
    message.msg_iovlen = size_t(count);
    ssize_t moved =
        ::sendmsg(peer.lines.messages.get(), &message, MSG_NOSIGNAL);
    if (moved <= 0) {
      wait(peer, moved);
      return;
    }
    request.moved += uint64_t(moved);
    if (request.moved == head + request.frame.bytes) {
      request.done = true;
      const bool isOurs = request.frame.magic == kReadyMagic;
      if (isOurs) // and nobody asks for it
        requests.erase(peer.sends.front());
      peer.sends.pop_front();
    }
  }
}

/// Whether a whole frame is there.
bool Tcp::readFrame(Peer &peer) {
  while (peer.incomingBytes < sizeof(Frame)) {
    ssize_t count =
        ::recv(peer.lines.messages.get(),
               reinterpret_cast<char *>(&peer.incoming) + peer.incomingBytes,
               sizeof(Frame) - peer.incomingBytes, 0);
    if (count <= 0) {
      wait(peer, count);
      return false;
    }
    peer.incomingBytes += size_t(count);
  }
  return true;
}

/// Whether something may come behind a message that nobody waits for.
bool Tcp::mustKeep(const Peer &peer) {
  auto isWaiting = [](const auto &entry) { return !entry.second.empty(); };
  return std::any_of(peer.receives.begin(), peer.receives.end(), isWaiting) ||
         std::any_of(peer.held.begin(), peer.held.end(), isWaiting);
}

void Tcp::startKeeping(Peer &peer) {
  peer.keeping = true;
  peer.kept.clear();
  peer.keptBytes = 0;
}

/// Takes memory as bytes come: how many a frame says is not to be believed.
static void makeRoom(std::vector<char> &kept, size_t filled, uint64_t bytes) {
  constexpr size_t kFirst = 1 << 16;
  if (filled == kept.size())
    kept.resize(
        size_t(std::min<uint64_t>(bytes, std::max(kFirst, 2 * kept.size()))));
}

bool Tcp::readKept(Peer &peer) {
  while (peer.keptBytes < peer.incoming.bytes) {
    makeRoom(peer.kept, peer.keptBytes, peer.incoming.bytes);
    ssize_t count =
        ::recv(peer.lines.messages.get(), peer.kept.data() + peer.keptBytes,
               peer.kept.size() - peer.keptBytes, 0);
    if (count <= 0) {
      wait(peer, count);
      return false;
    }
    peer.keptBytes += size_t(count);
  }
  peer.keeping = false;
  peer.incomingBytes = 0;
  auto &waiting = peer.receives[peer.incoming.channel];
  if (waiting.empty()) {
    peer.early[peer.incoming.channel].push_back(std::move(peer.kept));
  } else {
    deliver(peer, requests[waiting.front()], peer.kept);
    waiting.pop_front();
  }
  peer.kept = {};
  return true;
}

/// Whether somebody waits for the message; until then it waits in the line.
bool Tcp::matchFrame(Peer &peer) {
  if (peer.receiving != 0 || peer.keeping)
    return true;
  auto &waiting = peer.receives[peer.incoming.channel];
  if (waiting.empty()) {
    if (mustKeep(peer) && peer.incoming.magic == Frame().magic)
      startKeeping(peer);
    return peer.keeping;
  }
  Request &request = requests[waiting.front()];
  if (request.frame.bytes != peer.incoming.bytes ||
      peer.incoming.magic != Frame().magic) {
    request.failure = mismatch(request, peer.incoming.bytes);
    waiting.pop_front();
    peer.gone = true; // what follows cannot be told apart
    return false;
  }
  peer.receiving = waiting.front();
  waiting.pop_front();
  return true;
}

bool Tcp::readPayload(Peer &peer) {
  Request &request = requests[peer.receiving];
  while (request.moved < request.frame.bytes) {
    ssize_t count =
        ::recv(peer.lines.messages.get(), request.data + request.moved,
               size_t(request.frame.bytes - request.moved), 0);
    if (count <= 0) {
      wait(peer, count);
      return false;
    }
    request.moved += uint64_t(count);
  }
  request.done = true;
  peer.receiving = 0;
  peer.incomingBytes = 0;
  return true;
}

void Tcp::moveReceives(Peer &peer) {
  while (!peer.gone && readFrame(peer)) {
    if (peer.incoming.magic == kReadyMagic) {
      heard(peer);
      continue;
    }
    if (!matchFrame(peer) ||
        !(peer.keeping ? readKept(peer) : readPayload(peer)))
      return;
  }
}

void Tcp::moveNotes(Peer &peer) {
  while (true) {
    ssize_t count =
        ::recv(peer.lines.notes.get(),
               reinterpret_cast<char *>(&peer.note) + peer.noteBytes,
               sizeof(Note) - peer.noteBytes, 0);
    if (count <= 0) { // that it is gone shows in the other line
      peer.notesEnded |= count == 0 || (errno != EAGAIN && errno != EINTR);
      return;
    }
    peer.noteBytes += size_t(count);
    if (peer.noteBytes == sizeof(Note)) {
      notes.push_back(peer.note);
      peer.noteBytes = 0;
    }
  }
}

void Tcp::moveAll() {
  for (Peer &peer : peers)
    if (peer.lines.messages.isOpen()) {
      moveSends(peer);
      moveReceives(peer);
      moveNotes(peer);
    }
}

Result<bool> Tcp::finished(RequestId id) {
  Lock lock(mutex);
  auto found = requests.find(id);
  Peer &peer = peers[size_t(found->second.peer)];
  if (!found->second.done) {
    moveSends(peer);
    moveReceives(peer);
  }
  Request &request = found->second;
  if (request.done) {
    requests.erase(found);
    return true;
  }
  if (!request.failure.ok())
    return request.failure;
  if (peer.gone)
    return makeError(StatusCode::IoError, "rank ", request.peer,
                     " is gone: its connection has closed");
  return false;
}

void Tcp::cancel(RequestId id) {
  Lock lock(mutex);
  auto found = requests.find(id);
  if (found == requests.end())
    return;
  Peer &peer = peers[size_t(found->second.peer)];
  auto drop = [&](std::deque<RequestId> &ids) {
    auto place = std::find(ids.begin(), ids.end(), id);
    if (place != ids.end())
      ids.erase(place);
  };
  // A message that is half through cannot be taken back.
  if (peer.receiving == id || (found->second.isSend && found->second.moved > 0))
    peer.gone = true;
  drop(peer.sends);
  drop(peer.held[found->second.channel]);
  drop(peer.receives[found->second.channel]);
  requests.erase(found);
}

void Tcp::pause(uint64_t) {
  std::vector<pollfd> entries;
  {
    Lock lock(mutex);
    for (Peer &peer : peers) {
      if (!peer.lines.messages.isOpen())
        continue;
      if (!peer.notesEnded) // else it would never rest
        entries.push_back({peer.lines.notes.get(), POLLIN, 0});
      if (peer.gone)
        continue;
      // Do not poll for input that no receive waits for yet.
      bool wanted = peer.receiving != 0 || peer.keeping ||
                    peer.incomingBytes < sizeof(Frame);
      short events =
          short((wanted ? POLLIN : 0) | (peer.sends.empty() ? 0 : POLLOUT));
      entries.push_back({peer.lines.messages.get(), events, 0});
    }
  }
  ::poll(entries.data(), entries.size(), kRestMilliseconds);
  Lock lock(mutex);
  moveAll();
}

void Tcp::sendNote(int peer, const Note &note) {
  Lock lock(mutex);
  // So small that it goes whole or not at all.
  (void)::send(peers[size_t(peer)].lines.notes.get(), &note, sizeof(note),
               MSG_NOSIGNAL);
}

std::optional<Note> Tcp::nextNote() {
  Lock lock(mutex);
  if (notes.empty())
    for (Peer &peer : peers)
      if (peer.lines.notes.isOpen())
        moveNotes(peer);
  if (notes.empty())
    return std::nullopt;
  Note note = notes.front();
  notes.pop_front();
  return note;
}

void Tcp::close(bool failed) {
  Lock lock(mutex);
  if (failed) {
    // Closing with notes unread would take back those just sent.
    for (Peer &peer : peers)
      if (peer.lines.notes.isOpen())
        ::shutdown(peer.lines.notes.get(), SHUT_WR);
    auto end = Clock::now() + kLastWords;
    while (Clock::now() < end) {
      for (Peer &peer : peers)
        if (peer.lines.notes.isOpen())
          moveNotes(peer);
      ::poll(nullptr, 0, 20);
    }
  }
  peers.clear();
}

} // namespace

Result<std::unique_ptr<Transport>>
connectByTcp(const TcpPlace &place, std::chrono::milliseconds timeout) {
  ZC_ASSIGN_OR_RETURN(std::vector<Lines> lines, meet(place, timeout));
  return std::unique_ptr<Transport>(new Tcp(place, std::move(lines)));
}

} // namespace zc
