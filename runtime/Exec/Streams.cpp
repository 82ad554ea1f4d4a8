#include "runtime/Exec/Streams.h"

namespace zc {

using Lock = std::unique_lock<std::mutex>;

void StreamProgress::begin() {
  Lock lock(mutex);
  for (int64_t &each : last)
    each = -1;
  failed = false;
}

bool StreamProgress::waitFor(uint32_t stream, uint32_t index) {
  Lock lock(mutex);
  changed.wait(lock, [&] { return failed || last[stream] >= int64_t(index); });
  return !failed;
}

void StreamProgress::done(uint32_t stream, uint32_t index) {
  Lock lock(mutex);
  last[stream] = index;
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
