#include "compiler/Driver/OwnedProcess.h"

#include <cerrno>
#include <csignal>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t zc::forkOwned() {
  const pid_t parent = getpid(), child = fork();
  if (child != 0)
    return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(1); // it has ended already
  return 0;
}

int zc::awaitEnd(pid_t child, double *seconds) {
  int status = 0;
  rusage use{};
  while (wait4(child, &status, 0, &use) < 0 && errno == EINTR)
    ;
  auto toSeconds = [](const timeval &time) {
    return double(time.tv_sec) + 1e-6 * double(time.tv_usec);
  };
  if (seconds)
    *seconds = toSeconds(use.ru_utime) + toSeconds(use.ru_stime);
  return status;
}
