// A number that threads wait for: awake at first, where that keeps nobody from
// running, then asleep. Private to this folder.
#ifndef ZC_KERNELS_CPU_SLEEPWORD_H
#define ZC_KERNELS_CPU_SLEEPWORD_H

#include <atomic>
#include <cstdint>

namespace zc::kernels {

class SleepWord {
public:
  explicit SleepWord(uint32_t initial) : value(initial) {}

  uint32_t load() const { return value.load(std::memory_order_acquire); }
  /// For one that wakes nobody.
  void store(uint32_t number) {
    value.store(number, std::memory_order_release);
  }

  /// Adds to the number, modulo 2^32, and returns what it was.
  uint32_t add(uint32_t number) { return value.fetch_add(number); }

  /// Returns when the number is not `old` any more; also now and then before.
  /// `group`: one of 32 bits by which a thread may be woken.
  void waitWhile(uint32_t old, uint32_t group = ~0u);

  /// Whether anybody sleeps; after the number has changed, whoever does not
  /// will see that it has.
  bool hasSleepers() const { return sleepers.load() > 0; }

  /// Wakes those of these groups that sleep; after the number has changed.
  void wake(uint32_t groups = ~0u);

private:
  std::atomic<uint32_t> value;
  std::atomic<uint32_t> sleepers{0};
};

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_SLEEPWORD_H
