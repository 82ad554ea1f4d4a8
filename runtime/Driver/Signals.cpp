#include "runtime/Driver/Signals.h"
#include "runtime/Base/Temporaries.h"

#include <atomic>
#include <csignal>
#include <string_view>
#include <unistd.h>

namespace zc {

// Read by ranks that are threads; without a lock, as handlers need it.
static std::atomic<int> received{0};
static std::atomic<bool> nothingBegun{false};
static_assert(std::atomic<bool>::is_always_lock_free);
static_assert(std::atomic<int>::is_always_lock_free);

static std::string_view noticeOf(int signal) {
  switch (signal) {
  case SIGINT:
    return "zc-run: note: ended by SIGINT (Ctrl-C): nothing was begun yet\n";
  case SIGHUP:
    return "zc-run: note: ended by SIGHUP: nothing was begun yet\n";
  default:
    return "zc-run: note: ended by SIGTERM: nothing was begun yet\n";
  }
}

/// With nothing but what signal handlers may do.
[[noreturn]] static void endAtOnce(int signal) {
  if (nothingBegun) {
    const std::string_view notice = noticeOf(signal);
    [[maybe_unused]] ssize_t written =
        ::write(STDERR_FILENO, notice.data(), notice.size());
  }
  removeTemporaries();
  ::_exit(128 + signal);
}

static void onStop(int signal) {
  if (received || nothingBegun)
    endAtOnce(signal);
  received = signal;
}

void installSignalHandlers() {
  struct sigaction action = {};
  action.sa_handler = onStop;
  action.sa_flags = SA_RESTART;
  sigset_t stops;
  sigemptyset(&stops);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    sigaddset(&stops, signal);
    // nohup has a program ignore the end of its terminal.
    struct sigaction before = {};
    sigaction(signal, nullptr, &before);
    if (signal != SIGHUP || before.sa_handler != SIG_IGN)
      sigaction(signal, &action, nullptr);
  }
  // zc holds them back while it becomes zc-run.
  pthread_sigmask(SIG_UNBLOCK, &stops, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

void endOnSignals() {
  nothingBegun = true;
  if (const int signal = received)
    endAtOnce(signal);
}

void finishOnSignals() { nothingBegun = false; }

int stopSignal() { return received; }

} // namespace zc
