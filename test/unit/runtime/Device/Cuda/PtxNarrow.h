// Floating-point numbers of 16 bits, as PTX's registers hold them.
#ifndef ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_PTXNARROW_H
#define ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_PTXNARROW_H

#include "runtime/Base/Bfloat16.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace zc::test {

/// A number of 16 bits, computed with in float32.
template <float (*widen)(uint16_t), uint16_t (*narrow)(float)> struct Narrow {
  uint16_t bits = 0;

  Narrow() = default;
  explicit Narrow(float value) : bits(narrow(value)) {}
  explicit Narrow(double value) : Narrow(float(value)) {}
  operator float() const { return widen(bits); }
};

/// float16, to nearest, ties to even.
inline float widenHalf(uint16_t bits) {
  float sign = bits & 0x8000 ? -1.0f : 1.0f;
  int exponent = bits >> 10 & 31, mantissa = bits & 0x3ff;
  if (exponent == 31)
    return mantissa ? NAN : sign * INFINITY;
  return sign * (exponent ? std::ldexp(float(mantissa + 1024), exponent - 25)
                          : std::ldexp(float(mantissa), -24));
}
inline uint16_t narrowHalf(float value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value))
    return sign | 0x7e00;
  float size = std::fabs(value);
  if (size == 0)
    return sign;
  if (size >= 65520.0f)
    return sign | 0x7c00;
  int exponent = 0;
  std::frexp(size, &exponent);
  int unit = std::max(exponent - 11, -24); // of the last place
  int units = int(std::nearbyint(std::ldexp(size, -unit)));
  // The leading one of a normal number adds one to the exponent's field, and a
  // number that was rounded up to the next power of two another.
  return uint16_t(sign + (unit + 24) * 1024 + units);
}

using Half = Narrow<widenHalf, narrowHalf>;
using BFloat16 = Narrow<bfloat16ToFloat, floatToBfloat16>;

template <typename T>
constexpr bool isNarrow =
    std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

} // namespace zc::test

#endif // ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_PTXNARROW_H
