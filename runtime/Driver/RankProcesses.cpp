#include "runtime/Driver/RankProcesses.h"
#include "runtime/Base/Ending.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace zc {

HeldSignals::HeldSignals() {
  sigemptyset(&held);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD})
    sigaddset(&held, signal);
  pthread_sigmask(SIG_BLOCK, &held, &before);
}

HeldSignals::~HeldSignals() { release(); }

void HeldSignals::release() const {
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

int HeldSignals::await(std::chrono::milliseconds time) const {
  const timespec most = {time.count() / 1000, time.count() % 1000 * 1000000};
  const int signal = ::sigtimedwait(&held, nullptr, &most);
  return signal > 0 ? signal : 0;
}

bool RankEnd::isKilled() const { return WIFSIGNALED(status); }

bool RankEnd::isRefused() const {
  return !isKilled() && WEXITSTATUS(status) == kExitRefused;
}

bool RankEnd::isStopped() const {
  if (isKilled())
    return false;
  const int signal = WEXITSTATUS(status) - 128;
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
}

int RankEnd::code() const {
  return isKilled() ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string RankEnd::describe() const {
  const std::string who = strCat("rank ", rank, " (process ", process, ")");
  if (isKilled())
    return strCat(who, " was killed by signal ", WTERMSIG(status), " (",
                  ::strsignal(WTERMSIG(status)), ")");
  return strCat(who, " ended with exit code ", WEXITSTATUS(status));
}

/// In the new process.
[[noreturn]] static void
becomeRank(const HeldSignals &signals, pid_t parent, bool isFirst,
           char **arguments,
           const std::map<std::string, std::string> &variables) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) // it has died before that
    ::_exit(128 + SIGTERM);
  // One alone may read standard input; of a terminal none, for it would stop.
  if (!isFirst || ::isatty(STDIN_FILENO)) {
    const int nothing = ::open("/dev/null", O_RDONLY);
    if (nothing >= 0)
      ::dup2(nothing, STDIN_FILENO);
  }
  for (const auto &[name, value] : variables)
    value.empty() ? ::unsetenv(name.c_str())
                  : ::setenv(name.c_str(), value.c_str(), 1);
  signals.release();
  ::execv("/proc/self/exe", arguments);
  ::_exit(127);
}

Status
RankProcesses::start(const std::vector<std::string> &arguments,
                     const std::map<std::string, std::string> &variables) {
  std::vector<char *> argv;
  for (const std::string &argument : arguments)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);
  const pid_t self = ::getpid(), process = ::fork();
  if (process < 0)
    return errnoError("cannot start a rank");
  if (process == 0)
    becomeRank(signals, self, started == 0, argv.data(), variables);
  ranks[process] = started++;
  return Status();
}

std::optional<RankEnd> RankProcesses::takeEnd() {
  for (const auto &[process, rank] : ranks) {
    RankEnd end{rank, process, 0};
    if (::waitpid(process, &end.status, WNOHANG) != process)
      continue;
    ranks.erase(process);
    return end;
  }
  return std::nullopt;
}

void RankProcesses::signalAll(int signal) const {
  for (const auto &[process, rank] : ranks)
    ::kill(process, signal);
}

void RankProcesses::killAll() {
  signalAll(SIGKILL);
  for (const auto &[process, rank] : ranks)
    while (::waitpid(process, nullptr, 0) < 0 && errno == EINTR)
      ;
  ranks.clear();
}

} // namespace zc
