// Whether others want a thread's processor, and how a thread waits awake where
// that keeps nobody from running.
#ifndef ZC_RUNTIME_BASE_COMPANY_H
#define ZC_RUNTIME_BASE_COMPANY_H

#include <chrono>

namespace zc {

/// The calling thread's times since it began, by the system.
struct ThreadTimes {
  long preemptions = 0; // the processor was taken from it; -1: not known
  long sleeps = 0;      // it gave the processor up by itself
  std::chrono::nanoseconds running{0};
};
ThreadTimes readThreadTimes();

/// Others want a thread's processor where they lately kept it from running for
/// a while. A thread that spins then uses up the time that it will lack for its
/// work. Daemons and the kernel's threads take a processor for some tens of
/// microseconds now and then on each machine: they are no company.
class Company {
public:
  using Clock = std::chrono::steady_clock;

  /// How long a thread believes that its processor is wanted by others: at
  /// first, and where that turns out to be so again and again. A control group
  /// whose time is used up stops its threads once in each tenth of a second.
  static constexpr std::chrono::milliseconds kBusy{20}, kMostBusy{320};
  /// Between two looks at whether it was kept from running.
  static constexpr std::chrono::milliseconds kLook{1};
  /// Others are there once a thread has missed so much of its time; one part in
  /// kUnnoticed of the time that passes is forgiven. The system lets threads
  /// that want one processor run for longer than kMissed, in turns.
  static constexpr std::chrono::milliseconds kMissed{1};
  static constexpr int kUnnoticed = 50;
  /// A preemption counts as this much at most where the thread also slept: its
  /// length cannot be known then.
  static constexpr std::chrono::microseconds kSupposed{100};

  explicit Company(ThreadTimes (*read)() = readThreadTimes) : read(read) {}

  /// Whether others are there; looks around where the last look is old.
  bool isThere(Clock::time_point now);
  void lookAround(Clock::time_point now);
  /// How long others are believed to be there.
  Clock::time_point end() const { return until; }
  /// Whoever was there was the thread's own team.
  void forget();

private:
  Clock::duration missedSince(const ThreadTimes &found,
                              Clock::time_point now) const;

  ThreadTimes (*read)();
  ThreadTimes seen;
  bool hasLooked = false;
  Clock::time_point looked, until;
  Clock::duration missed{0};
  std::chrono::milliseconds busy = kBusy;
};

/// The calling thread's. A plugin has one of its own, beside the program's.
Company &ownCompany();

/// How long a thread should wait awake: `usual`, or not at all or for long as
/// OpenMP's variable OMP_WAIT_POLICY says (passive, active).
Company::Clock::duration timeAwake(Company::Clock::duration usual);

/// Lets the processor's other half run where it has two.
inline void pauseBriefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Waits awake for so long at most, or until others want the processor. Returns
/// whether isOver() became true meanwhile.
template <typename Predicate>
bool waitAwake(Company::Clock::duration most, Predicate isOver) {
  constexpr int kLooks = 64; // between two looks at the clock
  const auto begin = Company::Clock::now();
  Company &company = ownCompany();
  for (auto now = begin; now - begin < most && !company.isThere(now);
       now = Company::Clock::now())
    for (int i = 0; i < kLooks; ++i) {
      if (isOver())
        return true;
      pauseBriefly();
    }
  return false;
}

} // namespace zc

#endif // ZC_RUNTIME_BASE_COMPANY_H
