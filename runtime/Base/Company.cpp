#include "runtime/Base/Company.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <strings.h>
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

/// How long others kept the thread from running since the last look. Clocks of
/// some machines advance by ticks, so that the difference may be negative.
Company::Clock::duration Company::missedSince(const ThreadTimes &found,
                                              Clock::time_point now) const {
  const long times = found.preemptions - seen.preemptions;
  if (times <= 0)
    return {};
  const auto absent = std::max<Clock::duration>(
      (now - looked) - (found.running - seen.running), Clock::duration(0));
  return found.sleeps == seen.sleeps
             ? absent
             : std::min<Clock::duration>(absent, times * kSupposed);
}

void Company::lookAround(Clock::time_point now) {
  const ThreadTimes found = read();
  if (hasLooked && found.preemptions >= 0) // before the first look: unknown
    missed += missedSince(found, now);
  missed -= std::min(missed, (now - looked) / kUnnoticed);
  hasLooked = true;
  seen = found;
  looked = now;
  if (missed < kMissed)
    return;
  missed = {};
  busy = now - until < kMostBusy ? std::min(2 * busy, kMostBusy) : kBusy;
  until = now + busy;
}

void Company::forget() {
  missed = {};
  until = {};
}

Company &ownCompany() {
  static thread_local Company company;
  return company;
}

Company::Clock::duration timeAwake(Company::Clock::duration usual) {
  constexpr std::chrono::milliseconds kLong(20);
  static const char *const policy = std::getenv("OMP_WAIT_POLICY");
  if (policy && ::strcasecmp(policy, "passive") == 0)
    return Company::Clock::duration(0);
  if (policy && ::strcasecmp(policy, "active") == 0)
    return kLong;
  return usual;
}

} // namespace zc
