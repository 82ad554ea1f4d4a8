#include "kernels/Cpu/SleepWord.h"

#include "runtime/Base/Company.h"

#include <chrono>
#include <climits>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace zc::kernels {
namespace {

using Clock = Company::Clock;

// About what it takes to wake a thread; kernels mostly follow sooner.
constexpr std::chrono::microseconds kSpin(100);

} // namespace

void SleepWord::waitWhile(uint32_t old, uint32_t group) {
  if (waitAwake(timeAwake(kSpin), [&] { return load() != old; }))
    return;
  ownCompany().lookAround(Clock::now());
  sleepers.fetch_add(1);
  ::syscall(SYS_futex, &value, FUTEX_WAIT_BITSET_PRIVATE, old, nullptr, nullptr,
            group);
  sleepers.fetch_sub(1);
  ownCompany().lookAround(Clock::now()); // no sleep lies in what follows
}

void SleepWord::wake(uint32_t groups) {
  if (hasSleepers())
    ::syscall(SYS_futex, &value, FUTEX_WAKE_BITSET_PRIVATE, INT_MAX, nullptr,
              nullptr, groups);
}

} // namespace zc::kernels
