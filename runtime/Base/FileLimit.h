// A limit on the size of files (ulimit -f): the system ends a process that
// writes beyond it, unless the signal is held back; then the write fails.
#ifndef ZC_RUNTIME_BASE_FILELIMIT_H
#define ZC_RUNTIME_BASE_FILELIMIT_H

#include <csignal>
#include <ctime>

namespace zc {

/// Holds SIGXFSZ back in a scope, for the calling thread and those that it
/// starts meanwhile; handlers and other threads stay as they are.
class FileLimitHeld {
public:
  FileLimitHeld() {
    ::sigemptyset(&limit);
    ::sigaddset(&limit, SIGXFSZ);
    sigset_t pending;
    ::sigpending(&pending);
    wasPending = ::sigismember(&pending, SIGXFSZ) == 1;
    ::pthread_sigmask(SIG_BLOCK, &limit, &before);
  }
  ~FileLimitHeld() {
    const timespec none = {};
    if (!wasPending)
      ::sigtimedwait(&limit, nullptr, &none); // ours
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  FileLimitHeld(const FileLimitHeld &) = delete;
  FileLimitHeld &operator=(const FileLimitHeld &) = delete;

private:
  sigset_t limit, before;
  bool wasPending = false;
};

} // namespace zc

#endif // ZC_RUNTIME_BASE_FILELIMIT_H
