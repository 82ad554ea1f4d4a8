// A thread's stay on a processor of its own. Private to this folder.
#ifndef ZC_KERNELS_CPU_PIN_H
#define ZC_KERNELS_CPU_PIN_H

#include "runtime/Base/Company.h"

#include <sched.h>
#include <vector>

namespace zc::kernels {

/// Keeps a helper of a team where its caches and its memory are, as long as
/// nobody else wants that processor: a thread that may not go elsewhere would
/// wait for it. The caller's thread is not ours to keep: the helper whose place
/// the caller has takes the first one, which is the caller's. A helper that
/// lets go may run wherever it might before, not only in its rank's part.
class Pin {
public:
  using Clock = Company::Clock;

  /// How long the processor is left to others: at first, and where they come
  /// back again and again.
  static constexpr std::chrono::milliseconds kAway{100}, kMostAway{60000};
  /// How long a helper stays at least before it makes room for the caller.
  static constexpr std::chrono::milliseconds kStay{10};

  /// Thread `thread` of a team with a processor for each; `processors` are
  /// empty where all may go anywhere.
  Pin(const std::vector<int> &processors, uint32_t thread, Company &company)
      : processors(processors), thread(thread), company(company) {}

  /// Takes the processor, or lets go of it; changes it where the caller came
  /// there. Called by that thread, often.
  /// `caller`: the processor on which the team's caller was last seen.
  void review(int caller, Clock::time_point now);

  bool holds() const { return held; }

private:
  void stay(int processor, Clock::time_point now);
  void letGo(Clock::time_point now);

  const std::vector<int> &processors;
  std::vector<cpu_set_t> everywhere; // where the thread might run before
  const uint32_t thread;
  Company &company;
  int own = -1; // the processor that it holds
  bool held = false, refused = false;
  std::chrono::milliseconds away = kAway;
  Clock::time_point taken, moved, back;
};

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_PIN_H
