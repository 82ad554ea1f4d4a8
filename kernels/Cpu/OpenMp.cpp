// The functions by which oneDNN's parallel regions start, as GCC compiles them,
// on our own team. The linker prefers these to libgomp's, for they stand in the
// object that is loaded before it; without its teams libgomp sleeps. oneDNN
// uses no others (regions and barriers; loops are divided by thread numbers).
#include "kernels/Cpu/Parallel.h"
#include "kernels/Cpu/SleepWord.h"
#include "kernels/Cpu/Team.h"
#include "kernels/Cpu/WorkHint.h"

#include <algorithm>

namespace zc::kernels {
namespace {

/// A parallel region; each thread has the number of the share that it does.
struct Region {
  void (*body)(void *);
  void *data;
  uint32_t threads;
  int teamSize;
  std::atomic<uint32_t> waiting{0};
  SleepWord barriers{0}; // that all have passed
};

struct Place {
  Region *region = nullptr; // none: outside of all
  int number = 0;
  bool parallel = false; // in a region of several threads, or one within it
};
thread_local Place place;

void runShares(void *context, int64_t begin, int64_t end) {
  auto *region = static_cast<Region *>(context);
  Place before = place;
  for (int64_t share = begin; share < end; ++share) {
    place = {region, int(share), before.parallel || region->threads > 1};
    region->body(region->data);
  }
  place = before;
}

} // namespace
} // namespace zc::kernels

using namespace zc::kernels;

#define ZC_VISIBLE extern "C" __attribute__((visibility("default")))

ZC_VISIBLE void GOMP_parallel(void (*body)(void *), void *data,
                              unsigned threads, unsigned) {
  int size = place.region ? 1 : teamSize();
  if (threads > 0)
    size = std::min(size, int(threads));
  Region region{body, data, uint32_t(size), teamSize()};
  if (size == 1)
    return runShares(&region, 0, 1);
  const WorkHint &hint = workHint();
  ownTeam().run({runShares, &region, size, uint32_t(size), /*pieces=*/1,
                 hint.seconds, hint.mayMeet});
}

ZC_VISIBLE void GOMP_barrier() {
  Region *region = place.region;
  if (!region || region->threads == 1)
    return;
  uint32_t passed = region->barriers.load();
  if (region->waiting.fetch_add(1) + 1 == region->threads) {
    region->waiting = 0;
    region->barriers.add(1);
    region->barriers.wake();
    return;
  }
  while (region->barriers.load() == passed)
    region->barriers.waitWhile(passed);
}

ZC_VISIBLE int omp_get_thread_num() { return place.number; }

ZC_VISIBLE int omp_get_num_threads() {
  return place.region ? int(place.region->threads) : 1;
}

ZC_VISIBLE int omp_get_max_threads() {
  return place.region ? place.region->teamSize : teamSize();
}

ZC_VISIBLE int omp_in_parallel() { return place.parallel; }
