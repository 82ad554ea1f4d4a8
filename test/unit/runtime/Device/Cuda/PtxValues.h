// PTX's arithmetic on registers of 64 bits.
#ifndef ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_PTXVALUES_H
#define ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_PTXVALUES_H

#include "runtime/Base/Bfloat16.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

namespace zc::test {

template <typename T> T as(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}
template <typename T> uint64_t bitsOf(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

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

/// Calls `run` with a value of the type that PTX calls `name`.
template <typename F> bool withType(const std::string &name, F run) {
  if (name == "f32")
    run(float());
  else if (name == "f64")
    run(double());
  else if (name == "f16")
    run(Half());
  else if (name == "bf16")
    run(BFloat16());
  else if (name == "s64")
    run(int64_t());
  else if (name == "u64" || name == "b64")
    run(uint64_t());
  else if (name == "s32")
    run(int32_t());
  else if (name == "u32" || name == "b32")
    run(uint32_t());
  else if (name == "s16")
    run(int16_t());
  else if (name == "u16" || name == "b16")
    run(uint16_t());
  else if (name == "s8")
    run(int8_t());
  else if (name == "u8" || name == "b8")
    run(uint8_t());
  else if (name == "pred")
    run(bool());
  else
    return false;
  return true;
}

template <typename T> T compute(const std::string &op, T a, T b) {
  if constexpr (isNarrow<T>) {
    return T(compute(op, float(a), float(b)));
  } else if constexpr (std::is_same_v<T, bool>) {
    return op == "and" ? a && b : op == "or" ? a || b : a != b;
  } else if constexpr (std::is_floating_point_v<T>) {
    return op == "add"   ? a + b
           : op == "sub" ? a - b
           : op == "mul" ? a * b
           : op == "div" ? a / b
           : op == "min" ? std::fmin(a, b)
                         : std::fmax(a, b);
  } else {
    using U = std::make_unsigned_t<T>;
    if (op == "add" || op == "sub" || op == "mul")
      return T(op == "add"   ? U(a) + U(b)
               : op == "sub" ? U(a) - U(b)
                             : U(uint64_t(U(a)) * uint64_t(U(b))));
    if (op == "div" || op == "rem")
      return b == 0 ? T(-1) : op == "div" ? T(a / b) : T(a % b);
    return op == "min"   ? std::min(a, b)
           : op == "max" ? std::max(a, b)
           : op == "and" ? T(a & b)
           : op == "or"  ? T(a | b)
                         : T(a ^ b);
  }
}

template <typename T> bool compare(std::string how, T a, T b) {
  if constexpr (isNarrow<T>)
    return compare(how, float(a), float(b));
  bool unordered = false;
  if constexpr (std::is_floating_point_v<T>) {
    unordered = std::isnan(a) || std::isnan(b);
    if (how == "num" || how == "nan")
      return unordered == (how == "nan");
    if (how.size() == 3) { // equ, ltu
      if (unordered)
        return true;
      how.pop_back();
    }
    if (unordered)
      return false;
  }
  return how == "eq"                  ? a == b
         : how == "ne"                ? a != b
         : how == "lt" || how == "lo" ? a < b
         : how == "le" || how == "ls" ? a <= b
         : how == "gt" || how == "hi" ? a > b
                                      : a >= b;
}

/// Each of four selectors names one of eight bytes, or its sign.
inline uint64_t pickBytes(uint64_t bytes, uint32_t selectors) {
  uint64_t picked = 0;
  for (int i = 0; i < 4; ++i) {
    uint32_t selector = selectors >> (4 * i) & 15;
    uint8_t byte = uint8_t(bytes >> (8 * (selector & 7)));
    if (selector & 8)
      byte = byte & 0x80 ? 0xff : 0;
    picked |= uint64_t(byte) << (8 * i);
  }
  return picked;
}

inline double rounded(const std::string &how, double value) {
  return how == "rmi"   ? std::floor(value)
         : how == "rpi" ? std::ceil(value)
         : how == "rni" ? std::nearbyint(value)
         : how == "rzi" ? std::trunc(value)
                        : value;
}

template <typename To, typename From>
To convert(const std::string &how, From value) {
  if constexpr (isNarrow<From>)
    return convert<To>(how, float(value));
  else if constexpr (isNarrow<To>)
    return To(convert<float>(how, value));
  else if constexpr (std::is_floating_point_v<From>) {
    double number = rounded(how, double(value));
    if constexpr (std::is_floating_point_v<To>)
      return how.size() == 3 ? To(number) : To(value);
    if (std::isnan(number))
      return To(0);
    double least = double(std::numeric_limits<To>::min());
    double most = double(std::numeric_limits<To>::max());
    return number <= least  ? std::numeric_limits<To>::min()
           : number >= most ? std::numeric_limits<To>::max()
                            : To(number);
  } else {
    return To(value);
  }
}

} // namespace zc::test

#endif // ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_PTXVALUES_H
