// A stream of the fake driver. It does its work at once, until it gets work
// that waits for other ranks: from then on a thread of its own does all.
#ifndef ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_FAKESTREAM_H
#define ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_FAKESTREAM_H

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace zc::test {

class FakeStream {
public:
  FakeStream(int number, std::thread::id owner)
      : number(number), owner(owner) {}
  ~FakeStream() {
    {
      Lock lock(mutex);
      over = true;
      changed.notify_all();
    }
    if (thread.joinable())
      thread.join();
  }

  /// `waits`: for other ranks.
  void enqueue(std::function<void()> work, bool waits) {
    Lock lock(mutex);
    if (!waits && !thread.joinable()) {
      lock.unlock();
      return work();
    }
    queue.push_back(std::move(work));
    ++given;
    if (!thread.joinable())
      thread = std::thread([this] { loop(); });
    changed.notify_all();
  }

  /// The current work never ends, and nothing behind it begins.
  void hang(bool value) {
    Lock lock(mutex);
    hung = value;
    changed.notify_all();
  }

  /// A place behind all that was given so far.
  uint64_t end() {
    Lock lock(mutex);
    return given;
  }
  bool hasPassed(uint64_t place) {
    Lock lock(mutex);
    return passed(place);
  }
  /// Waits until that place has passed; false where it never does.
  bool await(uint64_t place) {
    Lock lock(mutex);
    changed.wait(lock, [&] { return hung || passed(place); });
    return passed(place);
  }

  const int number; // among its thread's
  const std::thread::id owner;

private:
  using Lock = std::unique_lock<std::mutex>;

  /// Work that is done at once has no place; it hangs at the last one.
  bool passed(uint64_t place) const {
    return done >= place && !(hung && done == given);
  }

  void loop() {
    Lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return over || (!hung && !queue.empty()); });
      if (over)
        return;
      auto work = std::move(queue.front());
      queue.pop_front();
      lock.unlock();
      work();
      lock.lock();
      changed.wait(lock, [&] { return over || !hung; });
      ++done;
      changed.notify_all();
    }
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> queue;
  uint64_t given = 0, done = 0;
  bool hung = false, over = false;
  std::thread thread;
};

} // namespace zc::test

#endif // ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_FAKESTREAM_H
