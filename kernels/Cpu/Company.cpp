#include "kernels/Cpu/Company.h"

#include <algorithm>
#include <sys/resource.h>

namespace zc::kernels {

long countPreemptions() {
  struct rusage usage;
  return ::getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : -1;
}

bool Company::isThere(Clock::time_point now) {
  if (now - looked > kLook)
    lookAround(now);
  return now < until;
}

void Company::lookAround(Clock::time_point now) {
  looked = now;
  const long found = count();
  if (found < 0 || found == preempted)
    return;
  preempted = found;
  busy = now - until < kMostBusy ? std::min(2 * busy, kMostBusy) : kBusy;
  until = now + busy;
}

} // namespace zc::kernels
