// Large copies by several threads: one alone moves a few gigabytes a second,
// less than a GPU takes.
#ifndef ZC_RUNTIME_BASE_PARALLELPARTS_H
#define ZC_RUNTIME_BASE_PARALLELPARTS_H

#include <cstdint>
#include <functional>

namespace zc {

/// How many threads pay for work that moves so many bytes: one for each
/// `kBytesOfThread`, at most `kMostThreads`, and no more than usableCores().
inline constexpr int64_t kBytesOfThread = 2 << 20;
inline constexpr int kMostThreads = 8;
int threadsForBytes(int64_t bytes);

/// Calls `work(begin, end)` for neighbouring parts of 0 to `count`, at once,
/// and returns when all have returned, or throws what one of them threw. All of
/// it moves `bytes`. Few bytes are one part, on the calling thread, as is all
/// where no thread can be had.
void inParallelParts(int64_t count, int64_t bytes,
                     const std::function<void(int64_t, int64_t)> &work);

} // namespace zc

#endif // ZC_RUNTIME_BASE_PARALLELPARTS_H
