// Numbers of one type in the memory of the fake GPU.
#ifndef ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_FAKEARRAY_H
#define ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_FAKEARRAY_H

#include "test/unit/runtime/Device/Cuda/PtxValues.h"

#include <cmath>
#include <cstdint>
#include <limits>

namespace zc::test {

enum class Type { F32, BF16, F16, E4M3, E5M2 };

inline bool isFloat8(Type type) {
  return type == Type::E4M3 || type == Type::E5M2;
}

/// The number that a float of 8 bits is, of `mantissa` bits behind the point.
inline double decodeFloat8(uint8_t bits, int mantissa) {
  const int bias = mantissa == 3 ? 7 : 15, size = bits & 0x7f;
  if (size == 0x7f || (mantissa == 2 && size > 0x7c))
    return std::numeric_limits<double>::quiet_NaN();
  const int exponent = size >> mantissa, rest = size & ((1 << mantissa) - 1);
  const double value =
      mantissa == 2 && size == 0x7c ? std::numeric_limits<double>::infinity()
      : exponent == 0
          ? std::ldexp(rest, 1 - bias - mantissa)
          : std::ldexp((1 << mantissa) + rest, exponent - bias - mantissa);
  return bits & 0x80 ? -value : value;
}

/// Numbers of one type in memory.
struct Array {
  Type type = Type::F32;
  char *memory = nullptr;

  double get(int64_t index) const {
    switch (type) {
    case Type::BF16:
      return float(reinterpret_cast<const BFloat16 *>(memory)[index]);
    case Type::F16:
      return float(reinterpret_cast<const Half *>(memory)[index]);
    case Type::E4M3:
      return decodeFloat8(uint8_t(memory[index]), 3);
    case Type::E5M2:
      return decodeFloat8(uint8_t(memory[index]), 2);
    default:
      return reinterpret_cast<const float *>(memory)[index];
    }
  }
  void set(int64_t index, double value) const {
    switch (type) {
    case Type::BF16:
      reinterpret_cast<BFloat16 *>(memory)[index] = BFloat16(value);
      break;
    case Type::F16:
      reinterpret_cast<Half *>(memory)[index] = Half(value);
      break;
    default:
      reinterpret_cast<float *>(memory)[index] = float(value);
    }
  }
};

inline Array arrayOf(Type type, const void *memory) {
  return {type, static_cast<char *>(const_cast<void *>(memory))};
}

} // namespace zc::test

#endif // ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_FAKEARRAY_H
