// A test hook: with ZC_TEST_ALLOC_LIMIT=1 in the environment, every allocation
// of the program and its plugins is watched, and a run that allocates more than
// 1 MiB at once after its first step fails.
#ifndef ZC_TOOLS_ZC_RUN_ALLOCHOOK_H
#define ZC_TOOLS_ZC_RUN_ALLOCHOOK_H

#include <cstddef>

namespace zc {

/// Whether the environment asks for the watch.
bool allocWatchWanted();

/// From now on, remembers the largest allocation.
void startAllocWatch();

/// Ends the watch. Returns the largest allocation above the limit, or 0.
size_t stopAllocWatch();

} // namespace zc

#endif // ZC_TOOLS_ZC_RUN_ALLOCHOOK_H
