#include "runtime/Exec/Streams.h"

#include <algorithm>

namespace zc {

using Lock = std::unique_lock<std::mutex>;

void StreamProgress::begin() {
  Lock lock(mutex);
  for (auto &each : last)
    each = -1;
  for (auto &each : wanted)
    each = kNothing;
  failed = false;
}

bool StreamProgress::waitFor(uint32_t stream, uint32_t index) {
  const int64_t end = index;
  if (last[stream] >= end)
    return !failed;
  Lock lock(mutex);
  while (!failed) {
    // Said first and looked at then, so that done() sees one or this the other.
    wanted[stream] = std::min<int64_t>(wanted[stream], end);
    if (last[stream] >= end)
      break;
    changed.wait(lock);
  }
  return !failed;
}

void StreamProgress::done(uint32_t stream, uint32_t index) {
  last[stream] = index;
  if (wanted[stream] > int64_t(index))
    return;
  {
    Lock lock(mutex);
    wanted[stream] = kNothing; // who waits for later ones says so again
  }
  changed.notify_all();
}

void StreamProgress::fail() {
  Lock lock(mutex);
  failed = true;
  changed.notify_all();
}

SideThread::~SideThread() {
  if (!thread.joinable())
    return;
  {
    Lock lock(mutex);
    over = true;
    changed.notify_all();
  }
  thread.join();
}

void SideThread::start(std::function<void()> given) {
  Lock lock(mutex);
  work = std::move(given);
  if (!thread.joinable())
    thread = std::thread([this] { loop(); });
  changed.notify_all();
}

void SideThread::wait() {
  Lock lock(mutex);
  changed.wait(lock, [&] { return !work; });
}

void SideThread::loop() {
  Lock lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return over || work; });
    if (!work)
      return;
    lock.unlock();
    work();
    lock.lock();
    work = nullptr;
    changed.notify_all();
  }
}

} // namespace zc
