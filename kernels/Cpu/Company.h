// Whether others want a thread's processor. Private to this folder.
#ifndef ZC_KERNELS_CPU_COMPANY_H
#define ZC_KERNELS_CPU_COMPANY_H

#include <chrono>

namespace zc::kernels {

/// How often the system has taken the processor from the calling thread, so
/// far; -1: it does not say.
long countPreemptions();

/// Others want a thread's processor where it was lately kept from running. A
/// thread that spins then uses up the time that it will lack for its work.
class Company {
public:
  using Clock = std::chrono::steady_clock;

  /// How long a thread believes that its processor is wanted by others: at
  /// first, and where that turns out to be so again and again. A control group
  /// whose time is used up stops its threads once in each tenth of a second.
  static constexpr std::chrono::milliseconds kBusy{20}, kMostBusy{320};
  /// Between two looks at whether it was kept from running.
  static constexpr std::chrono::milliseconds kLook{1};

  explicit Company(long (*count)() = countPreemptions) : count(count) {}

  /// Whether others are there; looks around where the last look is old.
  bool isThere(Clock::time_point now);
  void lookAround(Clock::time_point now);

private:
  long (*count)();
  long preempted = 0;
  Clock::time_point looked, until;
  std::chrono::milliseconds busy = kBusy;
};

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_COMPANY_H
