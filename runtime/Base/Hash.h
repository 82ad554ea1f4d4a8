// Hashes that tell whether bytes are what they were.
#ifndef ZC_RUNTIME_BASE_HASH_H
#define ZC_RUNTIME_BASE_HASH_H

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zc {

/// XXH64 (Collet) of `bytes` with seed 0: not for adversaries, at the speed of
/// memory.
uint64_t hashBytes(std::string_view bytes);

/// The same of bytes that come in pieces of any size.
class StreamedHash {
public:
  StreamedHash();
  void add(std::string_view bytes);
  /// The hash of all that was added.
  uint64_t value() const;

private:
  static constexpr size_t kStripe = 32;
  void takeStripes(const char *&at, const char *end);

  uint64_t lanes[4];
  char rest[kStripe]; // less than a stripe, which waits for more
  size_t waiting = 0;
  uint64_t total = 0;
};

} // namespace zc

#endif // ZC_RUNTIME_BASE_HASH_H
