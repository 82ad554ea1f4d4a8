#include "runtime/Driver/Supervisor.h"
#include "runtime/Base/Crypto.h"
#include "runtime/Base/Ending.h"
#include "runtime/Base/Log.h"
#include "runtime/Base/Memory.h"
#include "runtime/Driver/MemoryFolder.h"
#include "runtime/Driver/RankProcesses.h"
#include "runtime/Plan/RankPrograms.h"

#include <algorithm>
#include <cstdio>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace zc {

namespace {

constexpr int kWrongUsage = 2;
// How long ranks may take to end by themselves, and to say why, once one has
// failed.
constexpr std::chrono::seconds kGrace(3);
constexpr std::chrono::milliseconds kLook(200);

/// The outcome of one start of all ranks.
struct Outcome {
  int code = 0;
  std::optional<RankEnd> cause;   // of a failure
  int signal = 0;                 // that asked to stop
  int killed = 0;                 // ranks that died by a signal
  std::optional<RankEnd> refused; // by what the next start would meet again
  int stopped = 0;                // the signal that asked a rank to stop

  /// Others end with an exit code where one was asked to stop before its first
  /// step.
  bool hasFailed() const { return cause && (!stopped || cause->isKilled()); }
  /// A rank that was killed may have been the cause of what others met.
  bool isRefused() const { return refused && killed == 0; }
};

/// A word that strangers do not know.
Result<std::string> drawToken() {
  unsigned char bytes[32];
  if (::getrandom(bytes, sizeof(bytes), 0) != ssize_t(sizeof(bytes)))
    return errnoError("cannot draw a token");
  std::string text;
  for (unsigned char byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", byte);
    text += digits;
  }
  return text;
}

/// Whether `end` explains `before`: after a rank was killed, others end with an
/// exit code.
bool explains(const RankEnd &end, const std::optional<RankEnd> &before) {
  return !before || (end.isKilled() && !before->isKilled());
}

/// A checkpoint's identity: another run's of the same step is another one.
std::vector<std::pair<int64_t, ino_t>> identify(const std::string &dir) {
  std::vector<std::pair<int64_t, ino_t>> found;
  for (int64_t step : listCheckpoints(dir)) {
    struct stat info;
    if (::stat(checkpointPath(dir, step).c_str(), &info) == 0)
      found.emplace_back(step, info.st_ino);
  }
  return found;
}

class Supervisor {
public:
  explicit Supervisor(const SupervisorOptions &options)
      : options(options),
        folder(options.checkpoint.place.empty()
                   ? ""
                   : checkpointFolder(options.checkpoint.place)) {}

  Result<int> run();

private:
  Status prepare();
  Status readCounts();
  Status shrink(int killed);
  Result<Outcome> runOnce(int64_t restart);
  Status startRanks(RankProcesses &ranks, int64_t restart);
  Outcome waitForRanks(RankProcesses &ranks, int64_t restart);
  std::string meetingFile(int64_t restart) const {
    return strCat(meeting->path(), "/start-", restart);
  }
  std::vector<std::string> commandOf(int64_t restart);
  std::vector<int64_t> ownCheckpoints() const;
  std::string whatIsKept() const;
  std::string describe(const RankEnd &cause) const;
  int endRefused(const Outcome &outcome) const;

  const SupervisorOptions &options;
  const std::string folder; // of checkpoints; empty: none
  HeldSignals signals;
  std::optional<MemoryFolder> meeting, copies;
  std::string token;
  int ranks = 1;               // of the next start
  uint64_t memoryKills = 0;    // of the kernel, before the last start
  std::vector<int64_t> counts; // that the artifact can run on
  // Earlier checkpoints, of a run that is to be overwritten.
  std::vector<std::pair<int64_t, ino_t>> earlier;
};

Status Supervisor::readCounts() {
  ranks = options.ranks;
  if (options.minRanks == 0)
    return Status();
  ZC_ASSIGN_OR_RETURN(Artifact artifact,
                      Artifact::load(options.artifact,
                                     /*checkWeights=*/false));
  ZC_ASSIGN_OR_RETURN(counts, rankCountsOf(artifact));
  for (int64_t count : counts)
    if (count >= options.minRanks && count < options.ranks)
      return Status();
  return makeError(StatusCode::InvalidArgument, "--min-ranks ",
                   options.minRanks, ": '", options.artifact,
                   "' has no mesh for so many ranks, and fewer than ",
                   options.ranks, "; zc compile takes --mesh several times");
}

/// To the most ranks that the artifact can run on, of those that are left.
Status Supervisor::shrink(int killed) {
  if (options.minRanks == 0)
    return Status();
  const int64_t left = ranks - killed;
  int64_t most = 0;
  for (int64_t count : counts)
    if (count <= left && count >= options.minRanks)
      most = std::max(most, count);
  if (most == 0)
    return makeError(StatusCode::InvalidArgument, left,
                     left == 1 ? " rank is" : " ranks are",
                     " left; the artifact has no mesh for so many, and at "
                     "least --min-ranks ",
                     options.minRanks);
  ranks = int(most);
  return Status();
}

Status Supervisor::prepare() {
  ZC_RETURN_IF_ERROR(readCounts());
  ZC_ASSIGN_OR_RETURN(MemoryFolder place, MemoryFolder::create("meeting"));
  meeting.emplace(std::move(place));
  // Without libsodium the loop and a folder of this user's must do.
  if (Crypto::open().ok()) {
    ZC_ASSIGN_OR_RETURN(token, drawToken());
  }
  if (options.replicateEvery > 0) {
    ZC_ASSIGN_OR_RETURN(MemoryFolder kept, MemoryFolder::create("copies"));
    copies.emplace(std::move(kept));
  }
  if (!folder.empty())
    earlier = identify(folder);
  return Status();
}

/// The steps of the checkpoints in the folder that are this run's own.
std::vector<int64_t> Supervisor::ownCheckpoints() const {
  std::vector<int64_t> own;
  for (const auto &each : identify(folder))
    if (std::find(earlier.begin(), earlier.end(), each) == earlier.end())
      own.push_back(each.first);
  return own;
}

/// In place of where the first start went on from.
static void goOnFrom(const std::string &place,
                     std::vector<std::string> &command) {
  const std::string option = "--checkpoint";
  for (size_t i = 0; i < command.size(); ++i)
    if (command[i].rfind(option + "=", 0) == 0)
      command[i] = option + "=" + place;
    else if (command[i] == option && i + 1 < command.size())
      command[i + 1] = place;
}

/// A restart goes on, from this run's own checkpoints alone. --overwrite stays
/// until there is one.
std::vector<std::string> Supervisor::commandOf(int64_t restart) {
  std::vector<std::string> command = options.command;
  if (copies) {
    command.insert(command.end(),
                   {"--replicate", std::to_string(options.replicateEvery),
                    "--replica-dir", copies->path()});
  }
  if (restart == 0)
    return command;
  const bool isCopied = copies && !listCheckpoints(copies->path()).empty();
  const std::vector<int64_t> own = ownCheckpoints();
  if (options.checkpoint.resume) {
    // The folder may hold later steps of another run.
    if (!own.empty())
      goOnFrom(checkpointPath(folder, own.back()), command);
    return command;
  }
  if (options.checkpoint.overwrite && own.empty() && !isCopied)
    return command;
  command.erase(std::remove(command.begin(), command.end(), "--overwrite"),
                command.end());
  // The run would have removed these, had it not been killed meanwhile.
  for (const auto &[step, inode] : earlier) {
    struct stat info;
    if (::stat(checkpointPath(folder, step).c_str(), &info) == 0 &&
        info.st_ino == inode)
      removeCheckpoints(folder, {step});
  }
  command.push_back("--resume");
  return command;
}

Status Supervisor::startRanks(RankProcesses &ranks, int64_t restart) {
  const std::vector<std::string> command = commandOf(restart);
  for (int rank = 0; rank < this->ranks; ++rank)
    ZC_RETURN_IF_ERROR(
        ranks.start(command, {{"RANK", std::to_string(rank)},
                              {"LOCAL_RANK", std::to_string(rank)},
                              {"WORLD_SIZE", std::to_string(this->ranks)},
                              {"LOCAL_WORLD_SIZE", std::to_string(this->ranks)},
                              {"ZC_RENDEZVOUS_FILE", meetingFile(restart)},
                              {"ZC_TOKEN", token},
                              {kSupervised, "1"},
                              {"ZC_BIND_ADDR", "127.0.0.1"},
                              // A rank is none of an outer launcher's.
                              {"OMPI_COMM_WORLD_SIZE", ""},
                              {"PMIX_RANK", ""},
                              {"PMI_SIZE", ""},
                              {"PMI_RANK", ""}}));
  return Status();
}

Outcome Supervisor::waitForRanks(RankProcesses &ranks, int64_t restart) {
  using Clock = std::chrono::steady_clock;
  Outcome outcome;
  std::optional<Clock::time_point> until;
  while (true) {
    while (std::optional<RankEnd> end = ranks.takeEnd()) {
      outcome.code = std::max(outcome.code, end->code());
      if (end->isStopped())
        outcome.stopped = end->code() - 128;
      if (end->isSound() || end->isStopped())
        continue;
      outcome.killed += end->isKilled();
      if (end->isRefused() && !outcome.refused)
        outcome.refused = end;
      if (explains(*end, outcome.cause))
        outcome.cause = end;
      if (!until)
        until = Clock::now() + kGrace;
    }
    if (ranks.running() == 0)
      return outcome;
    // The first rank waits for one that has ended before it came.
    if (outcome.stopped && !outcome.signal &&
        ::access(meetingFile(restart).c_str(), F_OK) == 0) {
      outcome.signal = outcome.stopped;
      ranks.signalAll(outcome.signal);
    }
    // Asked to stop, ranks end together, however long saving takes.
    if (until && !outcome.signal && Clock::now() >= *until) {
      ranks.killAll();
      return outcome;
    }
    const int signal = signals.await(kLook);
    if (signal != 0 && signal != SIGCHLD) {
      if (outcome.signal) { // the second ends all at once
        ranks.killAll();
        return outcome;
      }
      outcome.signal = signal;
      ranks.signalAll(signal);
    }
  }
}

Result<Outcome> Supervisor::runOnce(int64_t restart) {
  RankProcesses ranks(signals);
  memoryKills = countMemoryKills();
  ZC_RETURN_IF_ERROR(startRanks(ranks, restart));
  return waitForRanks(ranks, restart);
}

std::string Supervisor::whatIsKept() const {
  const std::vector<int64_t> copied =
      copies ? listCheckpoints(copies->path()) : std::vector<int64_t>();
  const std::vector<int64_t> own = ownCheckpoints();
  if (!copied.empty() && (own.empty() || copied.back() > own.back()))
    return strCat("from the copy in memory of step ", copied.back());
  if (!own.empty())
    return "from '" + checkpointPath(folder, own.back()) + "'";
  if (options.checkpoint.resume && !listCheckpoints(folder).empty())
    return "from '" + options.checkpoint.place + "', as at first";
  return "from the beginning: nothing was kept yet";
}

/// A rank that is killed for lack of memory cannot say so.
std::string Supervisor::describe(const RankEnd &cause) const {
  std::string text = cause.describe();
  if (cause.code() != 128 + SIGKILL || countMemoryKills() <= memoryKills)
    return text;
  text += "; the kernel has killed for lack of memory meanwhile";
  if (const MemoryLimit limit = readMemoryLimit(); !limit.group.empty())
    text += strCat(" (control group '", limit.group, "' allows ", limit.bytes,
                   " bytes)");
  return text;
}

/// The rank itself has said why.
int Supervisor::endRefused(const Outcome &outcome) const {
  if (options.maxRestarts > 0)
    logNote(strCat("no restart: another start would refuse rank ",
                   outcome.refused->rank, ", too"));
  return kExitFailed;
}

Result<int> Supervisor::run() {
  ZC_RETURN_IF_ERROR(prepare());
  for (int64_t restart = 0;; ++restart) {
    ZC_ASSIGN_OR_RETURN(Outcome outcome, runOnce(restart));
    if (!outcome.hasFailed()) // done, or asked to stop
      return outcome.code;
    if (outcome.signal)
      return 128 + outcome.signal;
    if (outcome.cause->code() == kWrongUsage)
      return kWrongUsage;
    if (outcome.isRefused())
      return endRefused(outcome);
    const std::string what = describe(*outcome.cause);
    if (restart == options.maxRestarts)
      return makeError(
          StatusCode::Internal, what, "; ",
          options.maxRestarts == 0
              ? "--max-restarts K would begin again"
              : strCat("it was the last of ", options.maxRestarts,
                       options.maxRestarts == 1 ? " restart" : " restarts"));
    if (Status fewer = shrink(outcome.killed); !fewer.ok())
      return fewer.withContext(what);
    logWarning(
        strCat(what, "; restart ", restart + 1, " of ", options.maxRestarts,
               options.minRanks
                   ? strCat(" on ", ranks, ranks == 1 ? " rank" : " ranks")
                   : "",
               ", ", whatIsKept()));
  }
}

} // namespace

Result<int> supervise(const SupervisorOptions &options) {
  return Supervisor(options).run();
}

} // namespace zc
