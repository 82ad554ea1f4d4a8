// float16 (IEEE binary16), for hosts without such arithmetic.
#ifndef ZC_RUNTIME_BASE_FLOAT16_H
#define ZC_RUNTIME_BASE_FLOAT16_H

#include <cstdint>
#include <cstring>

namespace zc {

/// Exact; a NaN stays one.
inline float halfToFloat(uint16_t bits) {
  const uint32_t sign = uint32_t(bits & 0x8000) << 16, size = bits & 0x7fff;
  uint32_t wide;
  if (size >= 0x7c00) { // an infinity or NaN
    wide = 0x7f800000 | (size & 0x3ff) << 13;
  } else if (size >= 0x400) {
    wide = (size << 13) + ((127 - 15) << 23);
  } else { // below the normal numbers: units of 2^-24
    float small = float(size) * 0x1p-24f;
    std::memcpy(&wide, &small, sizeof(wide));
  }
  wide |= sign;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

/// To nearest, ties to even; beyond 65504 an infinity; a NaN stays one.
inline uint16_t floatToHalf(float value) {
  uint32_t size;
  std::memcpy(&size, &value, sizeof(size));
  const uint32_t sign = size >> 16 & 0x8000;
  size &= 0x7fffffff;
  uint32_t half;
  if (size > 0x7f800000) {
    half = 0x7e00;
  } else if (size >= 0x477ff000) { // 65520, half-way to what would be next
    half = 0x7c00;
  } else if (size < 0x38800000) { // 2^-14, the least normal number
    // Next to a half, float32 counts in units of 2^-24 as well.
    float small;
    std::memcpy(&small, &size, sizeof(small));
    small += 0.5f;
    std::memcpy(&half, &small, sizeof(half));
    half -= 0x3f000000;
  } else {
    size += 0xfff + ((size >> 13) & 1);
    half = (size - ((127 - 15) << 23)) >> 13;
  }
  return static_cast<uint16_t>(sign | half);
}

} // namespace zc

#endif // ZC_RUNTIME_BASE_FLOAT16_H
