//===- Field.cpp - numbers without rounding -------------------------------===//
#include "compiler/Interpreter/Field.h"

#include <algorithm>
#include <cmath>

namespace zc::interpreter::field {

int64_t ofBits(uint64_t bits) { return center(bits % uint64_t(kPrime)); }

int64_t addBeyond(int64_t a, int64_t b) {
  if (a == kNotANumber || b == kNotANumber)
    return kNotANumber;
  if (!isNumber(a) && !isNumber(b))
    return a == b ? a : kNotANumber;
  return isNumber(a) ? b : a;
}

int64_t multiplyBeyond(int64_t a, int64_t b) {
  if (a == kNotANumber || b == kNotANumber || a == 0 || b == 0)
    return kNotANumber;
  return (a < 0) == (b < 0) ? kInfinity : -kInfinity;
}

static int64_t power(int64_t base, uint64_t exponent) {
  int64_t result = 1;
  for (; exponent > 0; exponent >>= 1, base = multiply(base, base))
    if (exponent & 1)
      result = multiply(result, base);
  return result;
}

int64_t ofDouble(double value) {
  if (std::isnan(value))
    return kNotANumber;
  if (std::isinf(value))
    return value > 0 ? kInfinity : -kInfinity;
  int exponent = 0;
  constexpr int kDigits = 53;
  const double whole = std::ldexp(std::frexp(value, &exponent), kDigits);
  exponent -= kDigits;
  // 2^61 is 1.
  const int turns = ((exponent % 61) + 61) % 61;
  return multiply(static_cast<int64_t>(whole), int64_t(1) << turns);
}

/// A function of which nothing is known, at two numbers (splitmix64).
static int64_t unknown(Opcode opcode, int64_t a, int64_t b) {
  auto mix = [](uint64_t bits) {
    bits += 0x9e3779b97f4a7c15;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
    return bits ^ (bits >> 31);
  };
  return ofBits(mix(mix(mix(uint64_t(opcode)) ^ uint64_t(a)) ^ uint64_t(b)));
}

static int64_t divide(int64_t a, int64_t b) {
  if (a == kNotANumber || b == kNotANumber || (!isNumber(a) && !isNumber(b)))
    return kNotANumber;
  if (!isNumber(b))
    return 0;
  if (b == 0)
    return unknown(Opcode::DivF, a, 0);
  return multiply(a, power(b, uint64_t(kPrime) - 2));
}

static int64_t largest(int64_t a, int64_t b) {
  return a == kNotANumber || b == kNotANumber ? kNotANumber : std::max(a, b);
}

int64_t compute(const Instruction &in, int64_t a, int64_t b, int64_t c) {
  switch (in.opcode) { // lint: long-ok one line an operation
  case Opcode::AddF:
    return add(a, b);
  case Opcode::SubF:
    return add(a, b == kNotANumber ? b : -b);
  case Opcode::MulF:
    return multiply(a, b);
  case Opcode::DivF:
    return divide(a, b);
  case Opcode::NegF:
    return a == kNotANumber ? a : -a;
  case Opcode::Fma:
    return add(multiply(a, b), c);
  case Opcode::MaximumF:
    return largest(a, b);
  case Opcode::MinimumF:
    return a == kNotANumber || b == kNotANumber ? kNotANumber : std::min(a, b);
  case Opcode::MaxNumF: // a NaN is smaller than all others already
    return std::max(a, b);
  case Opcode::MinNumF:
    return a == kNotANumber ? b : b == kNotANumber ? a : std::min(a, b);
  case Opcode::AbsF:
    return a == kNotANumber ? a : std::abs(a);
  case Opcode::ToF16: // rounding is left out
  case Opcode::ToBF16:
  case Opcode::ToE4M3:
  case Opcode::ToE5M2:
  case Opcode::MoveF:
    return a;
  case Opcode::Exp:
    return a == -kInfinity ? 0 : unknown(in.opcode, a, 0);
  case Opcode::NormalTail:
    return multiply(b, unknown(in.opcode, a, 0));
  case Opcode::PowF:
  case Opcode::RemF:
    return unknown(in.opcode, a, b);
  default: // of one number
    return unknown(in.opcode, a, 0);
  }
}

bool compare(uint8_t predicate, int64_t a, int64_t b) {
  unsigned holds = a == kNotANumber || b == kNotANumber ? 8
                   : a == b                             ? 1
                   : a > b                              ? 2
                                                        : 4;
  return (predicate & holds) != 0;
}

int64_t toInteger(int64_t value) {
  constexpr int64_t kSmall = int64_t(1) << 40;
  return std::abs(value) < kSmall ? value
                                  : unknown(Opcode::FPToSI, value, 0) % 1024;
}

} // namespace zc::interpreter::field
