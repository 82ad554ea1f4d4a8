#include "runtime/Base/ParallelParts.h"
#include "runtime/Base/Cores.h"

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

namespace zc {

int threadsForBytes(int64_t bytes) {
  static const int cores = usableCores();
  return int(std::clamp<int64_t>(bytes / kBytesOfThread, 1,
                                 std::min(cores, kMostThreads)));
}

void inParallelParts(int64_t count, int64_t bytes,
                     const std::function<void(int64_t, int64_t)> &work) {
  const int64_t parts =
      std::min<int64_t>(threadsForBytes(bytes), std::max<int64_t>(count, 1));
  const auto beginOf = [&](int64_t part) { return count * part / parts; };
  std::vector<std::thread> threads;
  int64_t next = 1;
  try {
    for (; next < parts; ++next)
      threads.emplace_back(work, beginOf(next), beginOf(next + 1));
  } catch (const std::system_error &) {
    // The parts that no thread took are done below.
  }
  work(0, beginOf(1));
  if (next < parts)
    work(beginOf(next), count);
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace zc
