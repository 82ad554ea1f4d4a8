// PTX's arithmetic on registers of 64 bits.
#ifndef ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_PTXVALUES_H
#define ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_PTXVALUES_H

#include "test/unit/runtime/Device/Cuda/PtxNarrow.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
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

/// The operator of two values. Found when a kernel is read: kernels run
/// millions of instructions.
enum class Binary { Add, Sub, Mul, Div, Rem, Min, Max, And, Or, Xor, None };

inline Binary binaryNamed(const std::string &name) {
  static const char *names[] = {"add", "sub", "mul", "div", "rem",
                                "min", "max", "and", "or",  "xor"};
  auto found = std::find(std::begin(names), std::end(names), name);
  return Binary(found - std::begin(names));
}

template <typename T> T compute(Binary op, T a, T b) {
  if constexpr (isNarrow<T>) {
    return T(compute(op, float(a), float(b)));
  } else if constexpr (std::is_same_v<T, bool>) {
    return op == Binary::And ? a && b : op == Binary::Or ? a || b : a != b;
  } else if constexpr (std::is_floating_point_v<T>) {
    return op == Binary::Add   ? a + b
           : op == Binary::Sub ? a - b
           : op == Binary::Mul ? a * b
           : op == Binary::Div ? a / b
           : op == Binary::Min ? std::fmin(a, b)
                               : std::fmax(a, b);
  } else {
    using U = std::make_unsigned_t<T>;
    switch (op) {
    case Binary::Add:
      return T(U(a) + U(b));
    case Binary::Sub:
      return T(U(a) - U(b));
    case Binary::Mul:
      return T(U(uint64_t(U(a)) * uint64_t(U(b))));
    case Binary::Div:
      return b == 0 ? T(-1) : T(a / b);
    case Binary::Rem:
      return b == 0 ? T(-1) : T(a % b);
    case Binary::Min:
      return std::min(a, b);
    case Binary::Max:
      return std::max(a, b);
    case Binary::And:
      return T(a & b);
    case Binary::Or:
      return T(a | b);
    default:
      return T(a ^ b);
    }
  }
}

/// A comparison, and whether it holds where a value is no number.
struct Comparison {
  enum { Eq, Ne, Lt, Le, Gt, Ge, AreNumbers, AreNot } how;
  bool unordered = false;
};

inline Comparison comparisonNamed(std::string name) {
  if (name == "num" || name == "nan")
    return {name == "num" ? Comparison::AreNumbers : Comparison::AreNot};
  bool unordered = name.size() == 3; // equ, ltu
  if (unordered)
    name.pop_back();
  if (name == "eq" || name == "ne")
    return {name == "eq" ? Comparison::Eq : Comparison::Ne, unordered};
  if (name == "lt" || name == "lo")
    return {Comparison::Lt, unordered};
  if (name == "le" || name == "ls")
    return {Comparison::Le, unordered};
  if (name == "gt" || name == "hi")
    return {Comparison::Gt, unordered};
  return {Comparison::Ge, unordered};
}

template <typename T> bool compare(const Comparison &by, T a, T b) {
  if constexpr (isNarrow<T>)
    return compare(by, float(a), float(b));
  if constexpr (std::is_floating_point_v<T>) {
    bool isUnordered = std::isnan(a) || std::isnan(b);
    if (by.how == Comparison::AreNumbers || by.how == Comparison::AreNot)
      return isUnordered == (by.how == Comparison::AreNot);
    if (isUnordered)
      return by.unordered;
  }
  switch (by.how) {
  case Comparison::Eq:
    return a == b;
  case Comparison::Ne:
    return a != b;
  case Comparison::Lt:
    return a < b;
  case Comparison::Le:
    return a <= b;
  case Comparison::Gt:
    return a > b;
  default:
    return a >= b;
  }
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

/// How a conversion rounds; None: as the type does.
enum class Rounding { None, Down, Up, Nearest, Zero };

inline Rounding roundingNamed(const std::string &name) {
  return name == "rmi"   ? Rounding::Down
         : name == "rpi" ? Rounding::Up
         : name == "rni" ? Rounding::Nearest
         : name == "rzi" ? Rounding::Zero
                         : Rounding::None;
}

inline double rounded(Rounding how, double value) {
  switch (how) {
  case Rounding::Down:
    return std::floor(value);
  case Rounding::Up:
    return std::ceil(value);
  case Rounding::Nearest:
    return std::nearbyint(value);
  case Rounding::Zero:
    return std::trunc(value);
  default:
    return value;
  }
}

template <typename To, typename From> To convert(Rounding how, From value) {
  if constexpr (isNarrow<From>)
    return convert<To>(how, float(value));
  else if constexpr (isNarrow<To>)
    return To(convert<float>(how, value));
  else if constexpr (std::is_floating_point_v<From>) {
    double number = rounded(how, double(value));
    if constexpr (std::is_floating_point_v<To>)
      return how != Rounding::None ? To(number) : To(value);
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
