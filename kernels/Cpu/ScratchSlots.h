// Private to this folder.
#ifndef ZC_KERNELS_CPU_SCRATCHSLOTS_H
#define ZC_KERNELS_CPU_SCRATCHSLOTS_H

#include <atomic>
#include <memory>

namespace zc::kernels {

/// Parts of a workspace, of which each running task has one for itself.
class ScratchSlots {
public:
  explicit ScratchSlots(int count)
      : count(count), taken(new std::atomic<bool>[count]()) {}

  /// One that no other task has; there are enough for all threads.
  int take() {
    for (int slot = 0;; slot = (slot + 1) % count)
      if (!taken[slot].exchange(true, std::memory_order_acquire))
        return slot;
  }
  void give(int slot) { taken[slot].store(false, std::memory_order_release); }

private:
  int count;
  std::unique_ptr<std::atomic<bool>[]> taken;
};

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_SCRATCHSLOTS_H
