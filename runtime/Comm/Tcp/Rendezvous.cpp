#include "runtime/Comm/Tcp/Rendezvous.h"
#include "runtime/Comm/Tcp/MeetingFile.h"
#include "runtime/Comm/Tcp/Token.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <thread>

namespace zc::tcp {
namespace {

constexpr std::chrono::seconds kHelloTime(10), kSecondCall(2);
// Rank 0's own time may end a little later than a rank's that waits for it.
constexpr std::chrono::seconds kVerdictTime(1);
constexpr std::chrono::milliseconds kRetry(50);
constexpr size_t kMostStrangers = 256; // who have not said who they are

/// Rank 0's last message: whether all have come.
enum class Verdict : int32_t { Complete, Failed };

std::string listRanks(const std::vector<int> &ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i)
    text += (i ? ", " : "") + std::to_string(ranks[i]);
  return text;
}

/// Somebody who has connected, and what has come of his first words.
struct Caller {
  Socket socket;
  Clock::time_point patience;
  Hello hello = {};
  size_t heard = 0;
  bool isAsked = false; // to prove that he knows the token
  Hash256 number = {};  // drawn for that
  Hash256 proof = {};
  size_t proven = 0; // bytes that have come of it
};

class Meeting {
public:
  Meeting(const TcpPlace &place, Token token, std::chrono::milliseconds timeout)
      : place(place), token(std::move(token)), timeout(timeout),
        deadline(Clock::now() + timeout), lines(size_t(place.size)),
        addresses(size_t(place.size)) {}

  Result<std::vector<Lines>> asFirst();
  Result<std::vector<Lines>> asOther();

private:
  Result<Socket> callFirst(int line) const;
  Result<Socket> reachFirst(int line, int port) const;
  Result<Hello> sayHello(Socket &socket, int line, int port,
                         Clock::time_point until) const;
  Status introduce(Socket &socket, int line, int port) const;
  Status prove(Socket &socket, const Hello &hello, const Answer &answer,
               const std::string &whom, Clock::time_point until) const;
  Status callOne(int rank, int line, int port, Clock::time_point until);
  Result<Socket> listen(int port) const;
  Status acceptCallers(const Socket &listener);
  Result<bool> hear(Caller &caller);
  Result<bool> hearHello(Caller &caller);
  Result<bool> hearProof(Caller &caller);
  Status takeCaller(Caller &caller);
  Status checkCaller(const Hello &hello) const;
  Status takeCalls(const Socket &listener, Clock::time_point until);
  Status collectAll(const Socket &listener);
  Status collectHigher(const Socket &listener);
  void callLower(int port);
  std::vector<int> missing(int from) const;
  void tellAll(Verdict verdict);
  Status readVerdict(Socket &socket, Clock::time_point until) const;
  Status hearAll();

  const TcpPlace &place;
  const Token token;
  const std::chrono::milliseconds timeout;
  const Clock::time_point deadline; // for all to have reached rank 0
  std::vector<Lines> lines;
  std::vector<Address> addresses;
  std::vector<Caller> callers; // who have not said who they are
  int refused = 0;             // who did not know the token
};

Status Meeting::checkCaller(const Hello &hello) const {
  if (hello.size != place.size)
    return makeError(StatusCode::InvalidArgument, "rank ", hello.rank,
                     " was started as one of ", hello.size, ", rank ",
                     place.rank, " as one of ", place.size, " (WORLD_SIZE)");
  if (hello.rank < 0 || hello.rank >= place.size || hello.line < 0 ||
      hello.line > 1)
    return makeError(StatusCode::InvalidArgument, "there is no rank ",
                     hello.rank, " of ", place.size, " (RANK)");
  const Lines &mine = lines[size_t(hello.rank)];
  if ((hello.line ? mine.notes : mine.messages).isOpen() ||
      hello.rank == place.rank)
    return makeError(StatusCode::InvalidArgument, "two processes are rank ",
                     hello.rank, " (RANK)");
  return Status();
}

/// A connection of a rank.
Status Meeting::takeCaller(Caller &caller) {
  const Hello &hello = caller.hello;
  Status status = checkCaller(hello);
  if (place.rank == 0) {
    Answer answer;
    answer.kind = status.ok() ? Answer::Taken : Answer::Refused;
    answer.hasToken = token.isThere();
    (void)caller.socket.write(&answer, sizeof(answer), Clock::now());
  }
  ZC_RETURN_IF_ERROR(status);
  ZC_ASSIGN_OR_RETURN(addresses[size_t(hello.rank)],
                      peerOf(caller.socket, hello.port));
  Lines &mine = lines[size_t(hello.rank)];
  (hello.line ? mine.notes : mine.messages) = std::move(caller.socket);
  return Status();
}

/// Takes what a caller has said so far; whether he is done with, as one of us
/// or as a stranger who is let go.
Result<bool> Meeting::hear(Caller &caller) {
  return caller.isAsked ? hearProof(caller) : hearHello(caller);
}

Result<bool> Meeting::hearHello(Caller &caller) {
  Result<size_t> more = caller.socket.readSome(
      reinterpret_cast<char *>(&caller.hello) + caller.heard,
      sizeof(Hello) - caller.heard);
  if (!more.ok())
    return true;
  caller.heard += *more;
  if (caller.heard < sizeof(Hello))
    return Clock::now() >= caller.patience;
  const Hello &hello = caller.hello;
  if (hello.magic != Hello::kMagic)
    return true;
  if (!token.isThere() && !hello.hasToken) {
    ZC_RETURN_IF_ERROR(takeCaller(caller));
    return true;
  }
  Answer answer;
  answer.hasToken = token.isThere();
  caller.isAsked = token.isThere() && hello.hasToken;
  if (caller.isAsked) {
    answer.kind = Answer::Challenge;
    answer.number = caller.number = token.draw();
    answer.proof = token.prove(/*isListener=*/true, hello, caller.number);
  }
  (void)caller.socket.write(&answer, sizeof(answer), Clock::now());
  refused += !caller.isAsked;
  return !caller.isAsked;
}

Result<bool> Meeting::hearProof(Caller &caller) {
  Result<size_t> more = caller.socket.readSome(
      caller.proof.data() + caller.proven, sizeof(Hash256) - caller.proven);
  refused += !more.ok();
  if (!more.ok())
    return true;
  caller.proven += *more;
  if (caller.proven < sizeof(Hash256))
    return Clock::now() >= caller.patience;
  if (token.believes(/*isListener=*/false, caller.hello, caller.number,
                     caller.proof))
    ZC_RETURN_IF_ERROR(takeCaller(caller));
  else
    ++refused;
  return true;
}

Status Meeting::acceptCallers(const Socket &listener) {
  while (true) {
    ZC_ASSIGN_OR_RETURN(Socket socket, acceptFrom(listener));
    if (!socket.isOpen())
      return Status();
    // Drop the caller that has been silent longest.
    if (callers.size() == kMostStrangers + 2 * size_t(place.size))
      callers.erase(callers.begin());
    callers.push_back({std::move(socket), Clock::now() + kHelloTime});
  }
}

std::vector<int> Meeting::missing(int from) const {
  std::vector<int> ranks;
  for (int r = from; r < place.size; ++r)
    if (r != place.rank && (!lines[size_t(r)].messages.isOpen() ||
                            !lines[size_t(r)].notes.isOpen()))
      ranks.push_back(r);
  return ranks;
}

/// Waits until somebody calls, or speaks, or rank 0 says something; one who
/// says nothing keeps nobody else waiting.
Status Meeting::takeCalls(const Socket &listener, Clock::time_point until) {
  std::vector<int> descriptors = {listener.get()};
  if (place.rank != 0)
    descriptors.push_back(lines[0].notes.get());
  for (const Caller &caller : callers) {
    descriptors.push_back(caller.socket.get());
    until = std::min(until, caller.patience);
  }
  waitForAny(descriptors, until);
  ZC_RETURN_IF_ERROR(acceptCallers(listener));
  for (size_t i = 0; i < callers.size();) {
    ZC_ASSIGN_OR_RETURN(bool done, hear(callers[i]));
    if (done)
      callers.erase(callers.begin() + long(i));
    else
      ++i;
  }
  return Status();
}

/// Rank 0 waits for all others.
Status Meeting::collectAll(const Socket &listener) {
  while (!missing(1).empty()) {
    ZC_RETURN_IF_ERROR(takeCalls(listener, deadline));
    if (Clock::now() >= deadline && !missing(1).empty())
      return makeError(StatusCode::DeadlineExceeded, listRanks(missing(1)),
                       " of ", place.size, " did not come in time (--timeout)",
                       refused ? strCat("; ", refused,
                                        " connections of others "
                                        "were refused (ZC_TOKEN)")
                               : "");
  }
  return Status();
}

/// Another rank waits for the higher ones, which rank 0 has seen. One that has
/// died since never calls: its lines stay unopened. Rank 0, which goes on at
/// once, may find that out sooner; whatever it says, the world must hear.
Status Meeting::collectHigher(const Socket &listener) {
  const Clock::time_point until = Clock::now() + timeout;
  while (!missing(place.rank + 1).empty() && Clock::now() < until &&
         !lines[0].notes.hasInput())
    ZC_RETURN_IF_ERROR(takeCalls(listener, until));
  return Status();
}

Result<Hello> Meeting::sayHello(Socket &socket, int line, int port,
                                Clock::time_point until) const {
  Hello hello;
  hello.rank = place.rank;
  hello.size = place.size;
  hello.line = line;
  hello.port = port;
  hello.hasToken = token.isThere();
  hello.number = token.draw();
  ZC_RETURN_IF_ERROR(socket.write(&hello, sizeof(hello), until));
  return hello;
}

/// To the other end, which has proven first that it is one of us.
Status Meeting::prove(Socket &socket, const Hello &hello, const Answer &answer,
                      const std::string &whom, Clock::time_point until) const {
  if (answer.magic != Hello::kMagic || answer.kind != Answer::Challenge ||
      !token.believes(/*isListener=*/true, hello, answer.number, answer.proof))
    return makeError(StatusCode::InvalidArgument, "rank ", place.rank, " and ",
                     whom, " have different tokens (ZC_TOKEN)");
  const Hash256 proof = token.prove(/*isListener=*/false, hello, answer.number);
  return socket.write(proof.data(), proof.size(), until);
}

/// The lower ranks listened before they called rank 0: one that cannot be
/// reached now is gone, and its lines stay unopened.
void Meeting::callLower(int port) {
  const Clock::time_point until = Clock::now() + timeout;
  for (int r = 1; r < place.rank; ++r)
    for (int line : {0, 1})
      if (!callOne(r, line, port, until).ok())
        break;
}

Status Meeting::callOne(int rank, int line, int port, Clock::time_point until) {
  ZC_ASSIGN_OR_RETURN(Socket socket,
                      connectOnce(addresses[size_t(rank)], until));
  ZC_ASSIGN_OR_RETURN(Hello hello, sayHello(socket, line, port, until));
  if (token.isThere()) {
    Answer answer;
    ZC_RETURN_IF_ERROR(socket.read(&answer, sizeof(answer), until));
    ZC_RETURN_IF_ERROR(
        prove(socket, hello, answer, strCat("rank ", rank), until));
  }
  Lines &theirs = lines[size_t(rank)];
  (line ? theirs.notes : theirs.messages) = std::move(socket);
  return Status();
}

/// A rank that has died meanwhile does not hear it; World finds that out.
void Meeting::tellAll(Verdict verdict) {
  const Clock::time_point until = Clock::now() + timeout;
  for (Lines &line : lines) {
    Socket &socket = line.notes.isOpen() ? line.notes : line.messages;
    if (!socket.isOpen())
      continue;
    Status told = socket.write(&verdict, sizeof(verdict), until);
    if (told.ok() && verdict == Verdict::Complete)
      (void)socket.write(addresses.data(), addresses.size() * sizeof(Address),
                         until);
  }
}

/// A rank 0 that the others reach by this machine's loop has no business
/// elsewhere.
Result<Socket> Meeting::listen(int port) const {
  const bool isLoop = place.host == "localhost" || place.host == "127.0.0.1" ||
                      place.host == "::1";
  return listenOn(port,
                  place.address.empty() && isLoop ? place.host : place.address);
}

Result<std::vector<Lines>> Meeting::asFirst() {
  auto listener = listen(place.port);
  if (!listener.ok())
    return listener.status().withContext("rank 0 (MASTER_PORT)");
  MeetingFile file(place.file); // gone once all have come
  if (!place.file.empty()) {
    ZC_ASSIGN_OR_RETURN(int port, portOf(*listener));
    ZC_RETURN_IF_ERROR(file.write(place.address, port));
  }
  Status status = collectAll(*listener);
  tellAll(status.ok() ? Verdict::Complete : Verdict::Failed);
  ZC_RETURN_IF_ERROR(status);
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

/// Says who calls, and waits for rank 0's answer.
Status Meeting::introduce(Socket &socket, int line, int port) const {
  const Clock::time_point until = std::min(deadline, Clock::now() + kHelloTime);
  ZC_ASSIGN_OR_RETURN(Hello hello, sayHello(socket, line, port, until));
  Answer answer;
  ZC_RETURN_IF_ERROR(socket.read(&answer, sizeof(answer), until));
  if (answer.magic != Hello::kMagic)
    return Status(StatusCode::Unsupported, "it answers as other programs do");
  if (answer.hasToken != hello.hasToken)
    return makeError(StatusCode::InvalidArgument, "rank ",
                     hello.hasToken ? place.rank : 0, " has a token, rank ",
                     hello.hasToken ? 0 : place.rank, " has none (ZC_TOKEN)");
  if (hello.hasToken) {
    ZC_RETURN_IF_ERROR(prove(socket, hello, answer, "rank 0", until));
    ZC_RETURN_IF_ERROR(socket.read(&answer, sizeof(answer), until));
  }
  return answer.kind == Answer::Taken
             ? Status()
             : Status(StatusCode::Cancelled, "rank 0 tells why");
}

/// A line to rank 0 that it has answered on. Another program may listen on its
/// port, which gets time to make room; a file may be of an earlier run, and is
/// read again.
Result<Socket> Meeting::reachFirst(int line, int port) const {
  const bool byFile = !place.file.empty();
  std::optional<Clock::time_point> until;
  while (true) {
    ZC_ASSIGN_OR_RETURN(Socket socket, callFirst(line));
    Status status = introduce(socket, line, port);
    if (status.ok())
      return socket;
    if (status.code() == StatusCode::Cancelled ||
        status.code() == StatusCode::InvalidArgument)
      return status;
    if (!until)
      until = byFile ? deadline : std::min(deadline, Clock::now() + kHelloTime);
    const bool isOther = !byFile && status.code() == StatusCode::Unsupported;
    if (isOther || Clock::now() + kRetry >= *until)
      return status.withContext(
          byFile ? strCat("what listens where '", place.file,
                          "' (ZC_RENDEZVOUS_FILE) says is no rank 0 of zc")
                 : strCat("what listens at ", place.host, ":", place.port,
                          " is no rank 0 of zc; choose a MASTER_PORT that no "
                          "other program has"));
    std::this_thread::sleep_for(kRetry);
  }
}

/// Whether all have come. Rank 0 tells its user why not, unless it is gone.
Status Meeting::readVerdict(Socket &socket, Clock::time_point until) const {
  Verdict verdict = Verdict::Failed;
  Status heard = socket.read(&verdict, sizeof(verdict), until);
  if (heard.ok() && verdict == Verdict::Complete)
    return Status();
  if (heard.ok())
    return Status(StatusCode::Cancelled, "rank 0 tells why");
  return makeError(heard.code(), "rank ", place.rank, ": ",
                   heard.code() == StatusCode::DeadlineExceeded
                       ? "rank 0 does not answer (--timeout)"
                       : "rank 0 is gone: its connection has closed");
}

/// Rank 0's verdict, and where all others are.
Status Meeting::hearAll() {
  const Clock::time_point until = Clock::now() + timeout + kVerdictTime;
  Socket &socket = lines[0].notes;
  ZC_RETURN_IF_ERROR(readVerdict(socket, until));
  if (socket.read(addresses.data(), addresses.size() * sizeof(Address), until)
          .ok())
    return Status();
  return makeError(StatusCode::IoError, "rank ", place.rank,
                   ": rank 0 is gone: it has not said where the others are");
}

Result<std::vector<Lines>> Meeting::asOther() {
  ZC_ASSIGN_OR_RETURN(Socket listener, listen(0));
  ZC_ASSIGN_OR_RETURN(int port, portOf(listener));
  for (int line : {0, 1}) {
    auto socket = reachFirst(line, port);
    if (line && !socket.ok()) {
      Status verdict =
          readVerdict(lines[0].messages, Clock::now() + kVerdictTime);
      return verdict.ok() ? socket.status() : verdict;
    }
    if (!socket.ok())
      return socket.status().withContext(
          strCat("rank ", place.rank, " cannot reach rank 0"));
    (line ? lines[0].notes : lines[0].messages) = std::move(*socket);
  }
  ZC_RETURN_IF_ERROR(hearAll());
  callLower(port);
  ZC_RETURN_IF_ERROR(collectHigher(listener));
  return std::move(lines);
}

} // namespace

Result<std::vector<Lines>> meet(const TcpPlace &place,
                                std::chrono::milliseconds timeout) {
  ZC_ASSIGN_OR_RETURN(Token token, Token::create(place.token));
  Meeting meeting(place, std::move(token), timeout);
  return place.rank == 0 ? meeting.asFirst() : meeting.asOther();
}

} // namespace zc::tcp
