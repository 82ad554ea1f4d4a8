#include "runtime/Driver/Signals.h"
#include "runtime/Base/Temporaries.h"

#include <atomic>
#include <csignal>
#include <unistd.h>

namespace zc {

// Read by ranks that are threads; without a lock, as handlers need it.
static std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free);

static void onStop(int signal) {
  if (received) {
    removeTemporaries();
    ::_exit(128 + signal);
  }
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

int stopSignal() { return received; }

} // namespace zc
