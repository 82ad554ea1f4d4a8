#include "kernels/Cpu/SleepWord.h"

#include "runtime/Base/Company.h"

#include <chrono>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace zc::kernels {
namespace {

using Clock = Company::Clock;

// About what it takes to wake a thread; kernels mostly follow sooner.
constexpr std::chrono::microseconds kSpin(100);
// OMP_WAIT_POLICY=active
constexpr std::chrono::milliseconds kSpinOfTheActive(20);

/// How long a waiting thread stays awake. OpenMP's variable has the last word.
Clock::duration chooseSpin() {
  const char *policy = std::getenv("OMP_WAIT_POLICY");
  if (policy && ::strcasecmp(policy, "passive") == 0)
    return Clock::duration(0);
  if (policy && ::strcasecmp(policy, "active") == 0)
    return kSpinOfTheActive;
  return kSpin;
}

} // namespace

void SleepWord::waitWhile(uint32_t old, uint32_t group) {
  static const Clock::duration spin = chooseSpin();
  if (waitAwake(spin, [&] { return load() != old; }))
    return;
  ownCompany().lookAround(Clock::now());
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
