#include "kernels/Cpu/Pin.h"

#include "runtime/Base/AffinityMask.h"

#include <algorithm>
#include <sched.h>

namespace zc::kernels {

static bool restore(const std::vector<cpu_set_t> &mask) {
  return !mask.empty() &&
         ::sched_setaffinity(0, mask.size() * sizeof(cpu_set_t), mask.data()) ==
             0;
}

/// False: the system does not allow it.
static bool stayOn(const std::vector<int> &processors) {
  const int most = *std::max_element(processors.begin(), processors.end());
  const size_t bytes = CPU_ALLOC_SIZE(most + 1);
  std::vector<cpu_set_t> sets(bytes / sizeof(cpu_set_t) + 1);
  for (int processor : processors)
    CPU_SET_S(processor, bytes, sets.data());
  return ::sched_setaffinity(0, bytes, sets.data()) == 0;
}

void Pin::review(int caller, Clock::time_point now) {
  if (thread >= processors.size() || refused)
    return;
  const int free =
      processors[thread] == caller ? processors.front() : processors[thread];
  const bool isWanted = company.isThere(now);
  if (held && own != free && now - moved >= kStay) {
    company.forget(); // it was the caller
    return stay(free, now);
  }
  if (held && isWanted)
    letGo(now);
  else if (!held && !isWanted && now >= back)
    stay(free, now);
}

void Pin::stay(int processor, Clock::time_point now) {
  if (everywhere.empty())
    everywhere = readAffinityMask();
  if (!held)
    taken = now;
  moved = now;
  own = processor;
  held = stayOn({own});
  refused = !held;
  if (refused)
    restore(everywhere);
}

void Pin::letGo(Clock::time_point now) {
  held = false;
  refused = !restore(everywhere);
  away = now - taken < away ? std::min(2 * away, kMostAway) : kAway;
  back = now + away;
}

} // namespace zc::kernels
