// Hashes that tell whether bytes are what they were.
#ifndef ZC_RUNTIME_BASE_HASH_H
#define ZC_RUNTIME_BASE_HASH_H

#include <cstdint>
#include <string_view>

namespace zc {

/// XXH64 (Collet) of `bytes` with seed 0: not for adversaries, at the speed of
/// memory.
uint64_t hashBytes(std::string_view bytes);

} // namespace zc

#endif // ZC_RUNTIME_BASE_HASH_H
