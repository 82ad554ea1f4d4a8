// bfloat16, the upper half of a float32, for hosts without such arithmetic.
#ifndef ZC_RUNTIME_BASE_BFLOAT16_H
#define ZC_RUNTIME_BASE_BFLOAT16_H

#include <cstdint>
#include <cstring>

namespace zc {

inline float bfloat16ToFloat(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

/// To nearest, ties to even; a NaN stays one.
inline uint16_t floatToBfloat16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  if (value != value)
    return static_cast<uint16_t>((bits >> 16) | 0x40);
  bits += 0x7fff + ((bits >> 16) & 1);
  return static_cast<uint16_t>(bits >> 16);
}

} // namespace zc

#endif // ZC_RUNTIME_BASE_BFLOAT16_H
