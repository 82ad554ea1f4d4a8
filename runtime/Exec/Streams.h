// The streams of one program: kernels on the thread that runs it, collectives
// beside them on a thread of their own, copies from the second memory and to it
// on two others, kernels of a device's host on one more.
#ifndef ZC_RUNTIME_EXEC_STREAMS_H
#define ZC_RUNTIME_EXEC_STREAMS_H

#include "runtime/Plan/StreamNumbers.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>

namespace zc {

constexpr uint32_t kMainStream = streams::kMain,
                   kCollectiveStream = streams::kCollectives,
                   kFetchStream = streams::kFetches,
                   kNumStreams = streams::kCount;

/// How far the streams of a running program are. Each takes its instructions
/// in the program's order, so that an index tells all that is done.
class StreamProgress {
public:
  void begin();

  /// Waits until a stream has done instruction `index`. False: one has failed.
  bool waitFor(uint32_t stream, uint32_t index);

  void done(uint32_t stream, uint32_t index);
  void fail();

private:
  static constexpr int64_t kNothing = std::numeric_limits<int64_t>::max();

  std::mutex mutex;
  std::condition_variable changed;
  std::array<std::atomic<int64_t>, kNumStreams> last;
  /// The first instruction of each stream that somebody waits for. Only its end
  /// wakes anybody: a kernel takes less time than a thread's waking up.
  std::array<std::atomic<int64_t>, kNumStreams> wanted;
  std::atomic<bool> failed{false};
};

/// A thread that does one piece of work at a time; it begins with the first.
class SideThread {
public:
  SideThread() = default;
  SideThread(const SideThread &) = delete;
  ~SideThread();

  void start(std::function<void()> work);
  /// Waits for the end of the work.
  void wait();

private:
  void loop();

  std::mutex mutex;
  std::condition_variable changed;
  std::function<void()> work; // none: idle
  bool over = false;
  std::thread thread;
};

} // namespace zc

#endif // ZC_RUNTIME_EXEC_STREAMS_H
