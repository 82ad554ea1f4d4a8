#include "kernels/Cpu/SleepWord.h"

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <linux/futex.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace zc::kernels {
namespace {

using Clock = std::chrono::steady_clock;

// About what it takes to wake a thread; kernels mostly follow sooner.
constexpr std::chrono::microseconds kSpin(100);
// OMP_WAIT_POLICY=active
constexpr std::chrono::milliseconds kSpinOfTheActive(20);
// How long a thread believes that its processor is wanted by others: at first,
// and where that turns out to be so again and again. A control group whose time
// is used up stops its threads once in each tenth of a second.
constexpr std::chrono::milliseconds kBusy(20), kMostBusy(320);
// Between two looks at whether it was kept from running.
constexpr std::chrono::milliseconds kLook(1);

/// How long a waiting thread stays awake. OpenMP's variable has the last word.
Clock::duration chooseSpin() {
  const char *policy = std::getenv("OMP_WAIT_POLICY");
  if (policy && ::strcasecmp(policy, "passive") == 0)
    return Clock::duration(0);
  if (policy && ::strcasecmp(policy, "active") == 0)
    return kSpinOfTheActive;
  return kSpin;
}

/// Whether others want this thread's processor: it was lately kept from
/// running. A thread that spins then uses up the time that it will lack for its
/// work.
class Company {
public:
  bool isThere(Clock::time_point now) {
    if (now - looked > kLook)
      lookAround(now);
    return now < until;
  }

  void lookAround(Clock::time_point now) {
    struct rusage usage;
    looked = now;
    if (::getrusage(RUSAGE_THREAD, &usage) != 0 || usage.ru_nivcsw == preempted)
      return;
    preempted = usage.ru_nivcsw;
    busy = now - until < kMostBusy ? std::min(2 * busy, kMostBusy) : kBusy;
    until = now + busy;
  }

private:
  long preempted = 0;
  Clock::time_point looked, until;
  std::chrono::milliseconds busy = kBusy;
};

thread_local Company company;

void pauseBriefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Whether the number changed before the time was over.
bool spinWhile(const std::atomic<uint32_t> &value, uint32_t old) {
  static const Clock::duration spin = chooseSpin();
  constexpr int kLooks = 64; // between two looks at the clock
  const Clock::time_point begin = Clock::now();
  Clock::time_point now = begin;
  while (now - begin < spin && !company.isThere(now)) {
    for (int i = 0; i < kLooks; ++i) {
      if (value.load(std::memory_order_acquire) != old)
        return true;
      pauseBriefly();
    }
    now = Clock::now();
  }
  return false;
}

} // namespace

void SleepWord::waitWhile(uint32_t old, uint32_t group) {
  if (spinWhile(value, old))
    return;
  company.lookAround(Clock::now());
  sleepers.fetch_add(1);
  ::syscall(SYS_futex, &value, FUTEX_WAIT_BITSET_PRIVATE, old, nullptr, nullptr,
            group);
  sleepers.fetch_sub(1);
}

void SleepWord::wake(uint32_t groups) {
  if (hasSleepers())
    ::syscall(SYS_futex, &value, FUTEX_WAKE_BITSET_PRIVATE, INT_MAX, nullptr,
              nullptr, groups);
}

} // namespace zc::kernels
