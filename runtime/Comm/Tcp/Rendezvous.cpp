#include "runtime/Comm/Tcp/Rendezvous.h"
#include "runtime/Comm/Tcp/MeetingFile.h"

#include <algorithm>
#include <cstring>
#include <thread>

namespace zc::tcp {
namespace {

constexpr uint32_t kMagic = 0x315a4354; // tells zc's ranks from strangers
constexpr std::chrono::seconds kHelloTime(10), kSecondCall(2);

/// What a rank says first on each line.
struct Hello {
  uint32_t magic = kMagic;
  int32_t rank = 0, size = 0;
  int32_t line = 0; // 0: messages, 1: notes
  int32_t port = 0; // where it listens
};

/// What rank 0 answers: whether all have come.
enum class Verdict : int32_t { Complete, Failed };

Status sayHello(Socket &socket, const TcpPlace &place, int line, int port,
                Clock::time_point deadline) {
  Hello hello;
  hello.rank = place.rank;
  hello.size = place.size;
  hello.line = line;
  hello.port = port;
  return socket.write(&hello, sizeof(hello), deadline);
}

std::string listRanks(const std::vector<int> &ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i)
    text += (i ? ", " : "") + std::to_string(ranks[i]);
  return text;
}

class Meeting {
public:
  Meeting(const TcpPlace &place, Clock::time_point deadline)
      : place(place), deadline(deadline), lines(size_t(place.size)),
        addresses(size_t(place.size)) {}

  Result<std::vector<Lines>> asFirst();
  Result<std::vector<Lines>> asOther();

private:
  Result<Socket> callFirst(int line) const;
  Status takeCaller(Socket caller);
  Status collect(const Socket &listener, int from);
  std::vector<int> missing(int from) const;
  Status tellAll(Verdict verdict);

  const TcpPlace &place;
  const Clock::time_point deadline;
  std::vector<Lines> lines;
  std::vector<Address> addresses;
};

/// A connection of a rank; strangers are let go.
Status Meeting::takeCaller(Socket caller) {
  Hello hello;
  if (!caller
           .read(&hello, sizeof(hello),
                 std::min(deadline, Clock::now() + kHelloTime))
           .ok() ||
      hello.magic != kMagic)
    return Status();
  if (hello.size != place.size)
    return makeError(StatusCode::InvalidArgument, "rank ", hello.rank,
                     " was started as one of ", hello.size, ", rank ",
                     place.rank, " as one of ", place.size, " (WORLD_SIZE)");
  if (hello.rank < 0 || hello.rank >= place.size || hello.line < 0 ||
      hello.line > 1)
    return makeError(StatusCode::InvalidArgument, "there is no rank ",
                     hello.rank, " of ", place.size, " (RANK)");
  Lines &mine = lines[size_t(hello.rank)];
  Socket &socket = hello.line ? mine.notes : mine.messages;
  if (socket.isOpen() || hello.rank == place.rank)
    return makeError(StatusCode::InvalidArgument, "two processes are rank ",
                     hello.rank, " (RANK)");
  ZC_ASSIGN_OR_RETURN(addresses[size_t(hello.rank)],
                      peerOf(caller, hello.port));
  socket = std::move(caller);
  return Status();
}

std::vector<int> Meeting::missing(int from) const {
  std::vector<int> ranks;
  for (int r = from; r < place.size; ++r)
    if (r != place.rank && (!lines[size_t(r)].messages.isOpen() ||
                            !lines[size_t(r)].notes.isOpen()))
      ranks.push_back(r);
  return ranks;
}

/// Waits for the calls of the ranks from `from` on.
Status Meeting::collect(const Socket &listener, int from) {
  while (!missing(from).empty()) {
    ZC_ASSIGN_OR_RETURN(Socket caller, acceptFrom(listener, deadline));
    if (!caller.isOpen())
      return makeError(StatusCode::DeadlineExceeded, listRanks(missing(from)),
                       " of ", place.size, " did not come in time (--timeout)");
    ZC_RETURN_IF_ERROR(takeCaller(std::move(caller)));
  }
  return Status();
}

Status Meeting::tellAll(Verdict verdict) {
  for (Lines &line : lines)
    if (line.notes.isOpen())
      ZC_RETURN_IF_ERROR(line.notes.write(&verdict, sizeof(verdict), deadline));
  return Status();
}

Result<std::vector<Lines>> Meeting::asFirst() {
  auto listener = listenOn(place.port);
  if (!listener.ok())
    return listener.status().withContext("rank 0 (MASTER_PORT)");
  MeetingFile file(place.file); // gone once all have come
  if (!place.file.empty()) {
    ZC_ASSIGN_OR_RETURN(int port, portOf(*listener));
    ZC_RETURN_IF_ERROR(file.write(port));
  }
  if (Status status = collect(*listener, 1); !status.ok()) {
    (void)tellAll(Verdict::Failed);
    return status;
  }
  ZC_RETURN_IF_ERROR(tellAll(Verdict::Complete));
  for (Lines &line : lines)
    if (line.notes.isOpen())
      ZC_RETURN_IF_ERROR(line.notes.write(
          addresses.data(), addresses.size() * sizeof(Address), deadline));
  return std::move(lines);
}

/// A line to rank 0. Once it has listened and does no more, it has failed.
Result<Socket> Meeting::callFirst(int line) const {
  const Clock::time_point patience =
      line ? std::min(deadline, Clock::now() + kSecondCall) : deadline;
  if (!place.file.empty())
    return callByFile(place.file, patience);
  auto socket = connectTo(place.host, place.port, patience);
  if (!socket.ok())
    return socket.status().withContext(strCat(
        "at ", place.host, ":", place.port, " (MASTER_ADDR, MASTER_PORT)"));
  return socket;
}

Result<std::vector<Lines>> Meeting::asOther() {
  ZC_ASSIGN_OR_RETURN(Socket listener, listenOn(0));
  ZC_ASSIGN_OR_RETURN(int port, portOf(listener));
  for (int line : {0, 1}) {
    auto socket = callFirst(line);
    if (line && !socket.ok())
      return Status(StatusCode::Cancelled, "rank 0 tells why");
    if (!socket.ok())
      return socket.status().withContext(
          strCat("rank ", place.rank, " cannot reach rank 0"));
    ZC_RETURN_IF_ERROR(sayHello(*socket, place, line, port, deadline));
    (line ? lines[0].notes : lines[0].messages) = std::move(*socket);
  }
  // Rank 0's own time may end a little later than ours.
  const Clock::time_point patient = deadline + kHelloTime;
  Verdict verdict = Verdict::Failed;
  Status heard = lines[0].notes.read(&verdict, sizeof(verdict), patient);
  if (!heard.ok() || verdict != Verdict::Complete)
    return Status(StatusCode::Cancelled, "rank 0 tells why");
  ZC_RETURN_IF_ERROR(lines[0].notes.read(
      addresses.data(), addresses.size() * sizeof(Address), patient));
  // Each calls the lower ones and is called by the higher ones.
  for (int r = 1; r < place.rank; ++r)
    for (int line : {0, 1}) {
      auto socket = connectTo(addresses[size_t(r)], patient);
      if (!socket.ok())
        return socket.status().withContext(
            strCat("rank ", place.rank, " cannot reach rank ", r));
      ZC_RETURN_IF_ERROR(sayHello(*socket, place, line, port, patient));
      Lines &theirs = lines[size_t(r)];
      (line ? theirs.notes : theirs.messages) = std::move(*socket);
    }
  ZC_RETURN_IF_ERROR(collect(listener, place.rank + 1));
  return std::move(lines);
}

} // namespace

Result<std::vector<Lines>> meet(const TcpPlace &place,
                                Clock::time_point deadline) {
  Meeting meeting(place, deadline);
  return place.rank == 0 ? meeting.asFirst() : meeting.asOther();
}

} // namespace zc::tcp
