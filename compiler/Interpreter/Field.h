//===- Field.h - numbers without rounding -----------------------*- C++ -*-===//
//
// Floats as numbers modulo a prime. Sums, products and quotients are exact and
// follow the laws that real ones do; every other function (exp, tanh, sqrt) is
// one of which nothing is known but that equal arguments give equal results.
// Two polynomials that differ, of degree d, agree at a random point with a
// chance of d / kPrime at most (Schwartz, Zippel): numbers that are equal here
// come from equal formulas, but for a chance that is far below that of a broken
// machine.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_COMPILER_INTERPRETER_FIELD_H
#define ZC_COMPILER_INTERPRETER_FIELD_H

#include "compiler/Interpreter/Machine.h"

#include <cstdint>
#include <limits>

namespace zc::interpreter::field {

/// A Mersenne prime. Numbers are those from -(kPrime - 1) / 2 to
/// (kPrime - 1) / 2: they have an order and a sign, half of them each.
inline constexpr int64_t kPrime = (int64_t(1) << 61) - 1;

/// Larger and smaller than all numbers, and none: masks and maxima begin there.
inline constexpr int64_t kInfinity = std::numeric_limits<int64_t>::max();
inline constexpr int64_t kNotANumber = std::numeric_limits<int64_t>::min();

constexpr bool isNumber(int64_t value) {
  return value > -kPrime && value < kPrime;
}

/// The number of 64 random bits.
int64_t ofBits(uint64_t bits);

/// A float, which is a whole number times a power of two.
int64_t ofDouble(double value);

/// A sum or product of which one is no number.
int64_t addBeyond(int64_t a, int64_t b);
int64_t multiplyBeyond(int64_t a, int64_t b);

/// Between 0 and kPrime - 1.
inline uint64_t residue(int64_t value) {
  return static_cast<uint64_t>(value < 0 ? value + kPrime : value);
}

inline int64_t center(uint64_t residue) {
  const auto value = static_cast<int64_t>(residue);
  return value > kPrime / 2 ? value - kPrime : value;
}

inline int64_t add(int64_t a, int64_t b) {
  if (!isNumber(a) || !isNumber(b))
    return addBeyond(a, b);
  const int64_t sum = a + b;
  return sum > kPrime / 2    ? sum - kPrime
         : sum < -kPrime / 2 ? sum + kPrime
                             : sum;
}

inline int64_t multiply(int64_t a, int64_t b) {
  if (!isNumber(a) || !isNumber(b))
    return multiplyBeyond(a, b);
  const auto product = static_cast<unsigned __int128>(residue(a)) * residue(b);
  // 2^61 is 1: the digits above count as if they stood below.
  constexpr unsigned kDigits = 61;
  const uint64_t sum = (static_cast<uint64_t>(product) & uint64_t(kPrime)) +
                       static_cast<uint64_t>(product >> kDigits);
  return center(sum >= uint64_t(kPrime) ? sum - uint64_t(kPrime) : sum);
}

/// The float operations that give floats, and Opcode::CmpF as 0 or 1.
int64_t compute(const Instruction &in, int64_t a, int64_t b, int64_t c);
bool compare(uint8_t predicate, int64_t a, int64_t b);

/// A number as an integer; of one that is no small integer, bits that depend on
/// it alone.
int64_t toInteger(int64_t value);

} // namespace zc::interpreter::field

#endif // ZC_COMPILER_INTERPRETER_FIELD_H
