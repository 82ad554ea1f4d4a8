#include "test/fuzz/Coverage.h"

#include <cstdint>
#include <cstring>

namespace zc::fuzz {

static constexpr uint32_t kPlaces = 1 << 16;
static uint8_t taken[kPlaces]; // how often, by this input
static uint8_t seen[kPlaces];  // the numbers of times, one bit for each class

/// 1, 2, 3, 4 to 7, 8 to 15, ... are told apart.
static uint8_t classOf(uint8_t count) {
  if (count <= 3)
    return uint8_t(count ? 1 << (count - 1) : 0);
  return uint8_t(count < 8     ? 8
                 : count < 16  ? 16
                 : count < 32  ? 32
                 : count < 128 ? 64
                               : 128);
}

void beginCoverage() { std::memset(taken, 0, sizeof(taken)); }

bool endCoverage() {
  bool isNew = false;
  for (uint32_t i = 0; i < kPlaces; ++i) {
    const uint8_t bits = classOf(taken[i]);
    isNew |= bits & ~seen[i];
    seen[i] |= bits;
  }
  return isNew;
}

} // namespace zc::fuzz

/// Called by every block of the code that is built so.
extern "C" __attribute__((no_sanitize("address", "undefined"))) void
__sanitizer_cov_trace_pc() {
  static thread_local uint64_t previous = 0;
  const auto place = reinterpret_cast<uint64_t>(__builtin_return_address(0));
  const uint64_t mixed = (place * 0x9e3779b97f4a7c15) >> 32;
  uint8_t &count = zc::fuzz::taken[(mixed ^ previous) % zc::fuzz::kPlaces];
  count = uint8_t(count + (count < 255));
  previous = mixed >> 1;
}
