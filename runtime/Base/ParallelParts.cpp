#include "runtime/Base/ParallelParts.h"
#include "runtime/Base/Cores.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace zc {

int threadsForBytes(int64_t bytes) {
  static const int cores = usableCores();
  return int(std::clamp<int64_t>(bytes / kBytesOfThread, 1,
                                 std::min(cores, kMostThreads)));
}

namespace {

/// Threads that are waited for whatever happens, and the first of their
/// exceptions.
class Parts {
public:
  ~Parts() { join(); }

  void run(const std::function<void()> &part) {
    try {
      part();
    } catch (...) {
      std::lock_guard<std::mutex> lock(mutex);
      if (!thrown)
        thrown = std::current_exception();
    }
  }

  /// Whether there is a thread for it.
  bool runBeside(std::function<void()> part) {
    try {
      threads.emplace_back([this, part = std::move(part)] { run(part); });
      return true;
    } catch (const std::system_error &) {
      return false;
    }
  }

  void join() {
    for (std::thread &thread : threads)
      thread.join();
    threads.clear();
  }

  void rethrow() const {
    if (thrown)
      std::rethrow_exception(thrown);
  }

private:
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::exception_ptr thrown;
};

} // namespace

void inParallelParts(int64_t count, int64_t bytes,
                     const std::function<void(int64_t, int64_t)> &work) {
  const int64_t number =
      std::min<int64_t>(threadsForBytes(bytes), std::max<int64_t>(count, 1));
  const auto beginOf = [&](int64_t part) { return count * part / number; };
  Parts parts;
  int64_t next = 1;
  while (next < number &&
         parts.runBeside([&, next] { work(beginOf(next), beginOf(next + 1)); }))
    ++next;
  parts.run([&] { work(0, beginOf(1)); });
  if (next < number) // what no thread took
    parts.run([&] { work(beginOf(next), count); });
  parts.join();
  parts.rethrow();
}

} // namespace zc
