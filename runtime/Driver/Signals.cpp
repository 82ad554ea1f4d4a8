#include "runtime/Driver/Signals.h"
#include "runtime/Base/HandlerText.h"
#include "runtime/Base/Log.h"
#include "runtime/Base/Temporaries.h"

#include <atomic>
#include <cerrno>
#include <csignal>

namespace zc {

// Read by ranks that are threads; without a lock, as handlers need it.
static std::atomic<int> received{0};
static std::atomic<bool> nothingBegun{false};
static std::atomic<const char *> whatFollows{nullptr};
static_assert(std::atomic<bool>::is_always_lock_free);
static_assert(std::atomic<int>::is_always_lock_free);

static const char *nameOf(int signal) {
  return signal == SIGINT   ? "SIGINT (Ctrl-C)"
         : signal == SIGHUP ? "SIGHUP"
                            : "SIGTERM";
}

/// With nothing but what signal handlers may do.
[[noreturn]] static void endAtOnce(int signal) {
  if (nothingBegun) {
    HandlerText text;
    text << "zc-run: note: ended by " << nameOf(signal)
         << ": nothing was begun yet";
    text.print();
  }
  removeTemporaries();
  ::_exit(128 + signal);
}

static void tellOfStop(int signal) {
  const char *what = whatFollows;
  if (!what)
    return;
  const int error = errno; // of what was interrupted
  HandlerText text;
  text << (takeOpenLine() ? "\n" : "") << "zc-run: note: " << nameOf(signal)
       << ": " << what << "; once more to end at once";
  text.print();
  errno = error;
}

static void onStop(int signal) {
  if (received || nothingBegun)
    endAtOnce(signal);
  received = signal;
  tellOfStop(signal);
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

void finishOnSignals(const char *what) {
  if (what)
    whatFollows = what;
  nothingBegun = false;
}

int stopSignal() { return received; }

} // namespace zc
