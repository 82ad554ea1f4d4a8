// Ranks that are processes of this machine, as `zc launch` starts them.
#ifndef ZC_RUNTIME_DRIVER_RANKPROCESSES_H
#define ZC_RUNTIME_DRIVER_RANKPROCESSES_H

#include "runtime/Base/Status.h"

#include <chrono>
#include <csignal>
#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace zc {

/// Holds back, for this process, the signals that ask it to stop and those that
/// tell of the end of others, so that awaitSignal() gets them. While it lives.
class HeldSignals {
public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals &) = delete;

  /// The next one, or 0 at the end of the time.
  int await(std::chrono::milliseconds time) const;
  /// For a new process: as if nothing were held back.
  void release() const;

private:
  sigset_t held, before;
};

/// How a rank has ended.
struct RankEnd {
  int rank = 0;
  pid_t process = 0;
  int status = 0; // as waitpid() has it

  bool isSound() const { return status == 0; }
  bool isKilled() const;
  /// Whether another start would meet the same (runtime/Base/Ending.h).
  bool isRefused() const;
  /// Whether it ended by itself because a signal had asked it to stop: whoever
  /// sent it to this rank alone, all ranks stop together and save.
  bool isStopped() const;
  /// The exit code, or 128 and the signal.
  int code() const;
  /// "rank 2 (process 4711) was killed by signal 9 (Killed)".
  std::string describe() const;
};

class RankProcesses {
public:
  explicit RankProcesses(const HeldSignals &signals) : signals(signals) {}
  /// Ends those that still run, at once.
  ~RankProcesses() { killAll(); }
  RankProcesses(const RankProcesses &) = delete;

  /// Starts rank number size() + 0, 1, ...: this very program with `arguments`,
  /// and with `variables` in its environment; an empty one is taken out. Each
  /// is a process group by itself, so that a terminal's signals reach this
  /// process alone, and is told to stop when this process dies.
  Status start(const std::vector<std::string> &arguments,
               const std::map<std::string, std::string> &variables);

  /// The next rank that has ended, if any has.
  std::optional<RankEnd> takeEnd();
  size_t running() const { return ranks.size(); }
  void signalAll(int signal) const;
  /// Kills what runs, and waits for its end.
  void killAll();

private:
  const HeldSignals &signals;
  std::map<pid_t, int> ranks; // by process
  int started = 0;
};

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_RANKPROCESSES_H
