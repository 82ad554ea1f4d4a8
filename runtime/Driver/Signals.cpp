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
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // zc holds them back while it becomes zc-run.
  sigset_t stops;
  sigemptyset(&stops);
  sigaddset(&stops, SIGINT);
  sigaddset(&stops, SIGTERM);
  pthread_sigmask(SIG_UNBLOCK, &stops, nullptr);
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
}

int stopSignal() { return received; }

} // namespace zc
