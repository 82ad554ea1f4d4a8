#include "runtime/Base/Company.h"

#include <algorithm>
#include <ctime>
#include <sys/resource.h>

namespace zc {

ThreadTimes readThreadTimes() {
  struct rusage usage;
  timespec running;
  if (::getrusage(RUSAGE_THREAD, &usage) != 0 ||
      ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &running) != 0)
    return {/*preemptions=*/-1};
  return {usage.ru_nivcsw, usage.ru_nvcsw,
          std::chrono::seconds(running.tv_sec) +
              std::chrono::nanoseconds(running.tv_nsec)};
}

bool Company::isThere(Clock::time_point now) {
  if (now - looked > kLook)
    lookAround(now);
  return now < until;
}

/// How long others kept the thread from running since the last look.
Company::Clock::duration Company::missedSince(const ThreadTimes &found,
                                              Clock::time_point now) const {
  const long times = found.preemptions - seen.preemptions;
  if (times == 0)
    return {};
  if (found.sleeps != seen.sleeps)
    return times * kSupposed;
  return (now - looked) - (found.running - seen.running);
}

void Company::lookAround(Clock::time_point now) {
  const ThreadTimes found = read();
  if (found.preemptions < 0)
    return;
  if (looked == Clock::time_point{}) // what was before does not count
    seen = found;
  missed -= std::min(missed, (now - looked) / kUnnoticed);
  missed += missedSince(found, now);
  seen = found;
  looked = now;
  if (missed < kMissed)
    return;
  missed = {};
  busy = now - until < kMostBusy ? std::min(2 * busy, kMostBusy) : kBusy;
  until = now + busy;
}

Company &ownCompany() {
  static thread_local Company company;
  return company;
}

} // namespace zc
