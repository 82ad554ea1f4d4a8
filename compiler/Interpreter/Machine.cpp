//===- Machine.cpp - what interpreted programs run on ---------------------===//
#include "compiler/Interpreter/Machine.h"

#include "compiler/Interpreter/Field.h"

#include "llvm/Support/ErrorHandling.h"

#include <cmath>
#include <limits>

namespace zc::interpreter {

// --- Integers ----------------------------------------------------------------

/// The slot's form of the low `width` bits of a value.
static int64_t wrap(uint64_t value, unsigned width) {
  if (width == 64)
    return static_cast<int64_t>(value);
  if (width == 1)
    return static_cast<int64_t>(value & 1);
  unsigned shift = 64 - width;
  return static_cast<int64_t>(value << shift) >> shift;
}

static int64_t asSigned(int64_t value, unsigned width) {
  return width == 1 ? -value : value;
}

static uint64_t asUnsigned(int64_t value, unsigned width) {
  auto bits = static_cast<uint64_t>(value);
  return width == 64 ? bits : bits & ((uint64_t(1) << width) - 1);
}

/// Division by zero is undefined in the IR; here it gives 0.
static int64_t divide(int64_t a, int64_t b) {
  if (b == 0)
    return 0;
  return b == -1 ? wrap(0 - static_cast<uint64_t>(a), 64) : a / b;
}

static int64_t remainder(int64_t a, int64_t b) {
  return b == 0 || b == -1 ? 0 : a % b;
}

static int64_t floorDivide(int64_t a, int64_t b) {
  int64_t quotient = divide(a, b);
  return remainder(a, b) != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

static int64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0)
    return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t result = 1, factor = static_cast<uint64_t>(base);
  for (; exponent > 0; exponent >>= 1, factor *= factor)
    if (exponent & 1)
      result *= factor;
  return static_cast<int64_t>(result);
}

/// Out of range is undefined in the IR; here it saturates, NaN gives 0.
static int64_t toInteger(double value) {
  constexpr double limit = 9223372036854775808.0; // 2^63
  if (std::isnan(value))
    return 0;
  if (value >= limit)
    return std::numeric_limits<int64_t>::max();
  if (value < -limit)
    return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

/// Predicates in the order of arith::CmpIPredicate.
static bool compareIntegers(const Instruction &in, int64_t a, int64_t b) {
  int64_t sa = asSigned(a, in.fromWidth), sb = asSigned(b, in.fromWidth);
  uint64_t ua = asUnsigned(a, in.fromWidth), ub = asUnsigned(b, in.fromWidth);
  switch (in.predicate) {
  case 0:
    return sa == sb;
  case 1:
    return sa != sb;
  case 2:
    return sa < sb;
  case 3:
    return sa <= sb;
  case 4:
    return sa > sb;
  case 5:
    return sa >= sb;
  case 6:
    return ua < ub;
  case 7:
    return ua <= ub;
  case 8:
    return ua > ub;
  default:
    return ua >= ub;
  }
}

// --- Floats ------------------------------------------------------------------

static bool compareFloats(unsigned predicate, double a, double b) {
  unsigned holds = std::isnan(a) || std::isnan(b) ? 8
                   : a == b                       ? 1
                   : a > b                        ? 2
                                                  : 4;
  return (predicate & holds) != 0;
}

static double maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  return a > b || (a == b && !std::signbit(a)) ? a : b;
}

/// The nearest number with `digits` binary digits and exponents from `least` to
/// `most`, the even one of two; infinity beyond.
static double roundTo(double value, int digits, int least, int most) {
  if (value == 0 || !std::isfinite(value))
    return value;
  int exponent = std::max(std::ilogb(value), least) - (digits - 1);
  double rounded =
      std::ldexp(std::nearbyint(std::ldexp(value, -exponent)), exponent);
  return std::abs(rounded) < std::ldexp(1.0, most + 1)
             ? rounded
             : std::copysign(std::numeric_limits<double>::infinity(), value);
}

/// The float operations; any other opcode ends the program.
static double computeFloat(const Instruction &in, double a, double b,
                           double c) {
  switch (in.opcode) { // lint: long-ok one line an operation
  case Opcode::AddF:
    return a + b;
  case Opcode::SubF:
    return a - b;
  case Opcode::MulF:
    return a * b;
  case Opcode::DivF:
    return a / b;
  case Opcode::RemF:
    return std::fmod(a, b);
  case Opcode::NegF:
    return -a;
  case Opcode::MaximumF:
    return maximum(a, b);
  case Opcode::MinimumF:
    return -maximum(-a, -b);
  case Opcode::MaxNumF:
    return std::fmax(a, b);
  case Opcode::MinNumF:
    return std::fmin(a, b);
  case Opcode::AbsF:
    return std::fabs(a);
  case Opcode::Exp:
    return std::exp(a);
  case Opcode::Exp2:
    return std::exp2(a);
  case Opcode::ExpM1:
    return std::expm1(a);
  case Opcode::Log:
    return std::log(a);
  case Opcode::Log2:
    return std::log2(a);
  case Opcode::Log1P:
    return std::log1p(a);
  case Opcode::Sqrt:
    return std::sqrt(a);
  case Opcode::Rsqrt:
    return 1 / std::sqrt(a);
  case Opcode::Tanh:
    return std::tanh(a);
  case Opcode::Erf:
    return std::erf(a);
  case Opcode::Sin:
    return std::sin(a);
  case Opcode::Cos:
    return std::cos(a);
  case Opcode::Atan:
    return std::atan(a);
  case Opcode::Tan:
    return std::tan(a);
  case Opcode::Asin:
    return std::asin(a);
  case Opcode::Acos:
    return std::acos(a);
  case Opcode::Sinh:
    return std::sinh(a);
  case Opcode::Cosh:
    return std::cosh(a);
  case Opcode::Asinh:
    return std::asinh(a);
  case Opcode::Acosh:
    return std::acosh(a);
  case Opcode::Atanh:
    return std::atanh(a);
  case Opcode::NormalTail:
    return b * 0.5 * std::erfc(a * 0.70710678118654752440);
  case Opcode::PowF:
    return std::pow(a, b);
  case Opcode::Floor:
    return std::floor(a);
  case Opcode::Ceil:
    return std::ceil(a);
  case Opcode::Round:
    return std::round(a);
  case Opcode::RoundEven:
    return std::nearbyint(a);
  case Opcode::Fma:
    return a * b + c;
  case Opcode::ToF16:
    return roundTo(a, 11, -14, 15);
  case Opcode::ToBF16:
    return roundTo(a, 8, -126, 127);
  case Opcode::ToE4M3: // of numbers up to 448: there is no infinity
    return roundTo(a, 4, -6, 8);
  case Opcode::ToE5M2:
    return roundTo(a, 3, -14, 15);
  case Opcode::MoveF:
    return a;
  default:
    llvm_unreachable("not a float operation");
  }
}

static int64_t computeInteger(const Instruction &in, int64_t a, int64_t b) {
  auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  unsigned from = in.fromWidth;
  switch (in.opcode) { // lint: long-ok one line an operation
  case Opcode::AddI:
    return wrap(ua + ub, in.width);
  case Opcode::SubI:
    return wrap(ua - ub, in.width);
  case Opcode::MulI:
    return wrap(ua * ub, in.width);
  case Opcode::DivSI:
    return wrap(divide(asSigned(a, from), asSigned(b, from)), in.width);
  case Opcode::RemSI:
    return wrap(remainder(asSigned(a, from), asSigned(b, from)), in.width);
  case Opcode::DivUI:
    return b == 0 ? 0
                  : wrap(asUnsigned(a, from) / asUnsigned(b, from), in.width);
  case Opcode::RemUI:
    return b == 0 ? 0
                  : wrap(asUnsigned(a, from) % asUnsigned(b, from), in.width);
  case Opcode::FloorDivSI:
    return floorDivide(a, b);
  case Opcode::CeilDivSI:
    return -floorDivide(-a, b);
  case Opcode::Mod:
    return a - floorDivide(a, b) * b;
  case Opcode::AndI:
    return a & b;
  case Opcode::OrI:
    return a | b;
  case Opcode::XOrI:
    return wrap(ua ^ ub, in.width);
  case Opcode::ShLI:
    return ub >= in.width ? 0 : wrap(ua << ub, in.width);
  case Opcode::ShRSI:
    return ub >= in.width ? (a < 0 ? -1 : 0) : a >> b;
  case Opcode::ShRUI:
    return ub >= in.width ? 0 : wrap(asUnsigned(a, from) >> b, in.width);
  case Opcode::MaxSI:
    return asSigned(a, from) > asSigned(b, from) ? a : b;
  case Opcode::MinSI:
    return asSigned(a, from) < asSigned(b, from) ? a : b;
  case Opcode::MaxUI:
    return asUnsigned(a, from) > asUnsigned(b, from) ? a : b;
  case Opcode::MinUI:
    return asUnsigned(a, from) < asUnsigned(b, from) ? a : b;
  case Opcode::AbsI:
    return a < 0 ? wrap(0 - ua, in.width) : a;
  case Opcode::PowI:
    return wrap(power(asSigned(a, from), asSigned(b, from)), in.width);
  case Opcode::CmpI:
    return compareIntegers(in, a, b);
  case Opcode::Signed:
    return wrap(asSigned(a, from), in.width);
  case Opcode::Unsigned:
    return wrap(asUnsigned(a, from), in.width);
  default:
    llvm_unreachable("not an integer operation");
  }
}

/// False: floats have no part in the instruction.
static bool computeExact(const Instruction &in, Slot a, Slot b, Slot c,
                         Slot &result) {
  switch (in.opcode) {
  case Opcode::CmpF:
    result.i = field::compare(in.predicate, a.i, b.i);
    return true;
  case Opcode::FPToSI:
  case Opcode::FPToUI:
    result.i = wrap(field::toInteger(a.i), in.width);
    return true;
  case Opcode::SIToFP:
    result.i = field::ofDouble(double(asSigned(a.i, in.fromWidth)));
    return true;
  case Opcode::UIToFP:
    result.i = field::ofBits(asUnsigned(a.i, in.fromWidth));
    return true;
  default:
    if (in.opcode > Opcode::MoveF)
      return false;
    result.i = field::compute(in, a.i, b.i, c.i);
    return true;
  }
}

/// The result before it is rounded.
static Slot computeWhole(const Instruction &in, Slot a, Slot b, Slot c) {
  Slot result;
  if (in.opcode <= Opcode::MoveF && in.opcode != Opcode::CmpF) {
    result.f = computeFloat(in, a.f, b.f, c.f);
    return result;
  }
  switch (in.opcode) {
  case Opcode::CmpF:
    result.i = compareFloats(in.predicate, a.f, b.f);
    break;
  case Opcode::FPToSI:
  case Opcode::FPToUI:
    result.i = wrap(toInteger(a.f), in.width);
    break;
  case Opcode::SIToFP:
    result.f = static_cast<double>(asSigned(a.i, in.fromWidth));
    break;
  case Opcode::UIToFP:
    result.f = static_cast<double>(asUnsigned(a.i, in.fromWidth));
    break;
  case Opcode::Select:
    return a.i ? b : c;
  default:
    result.i = computeInteger(in, a.i, b.i);
    break;
  }
  return result;
}

/// Any operation but a node.
static Slot compute(const Instruction &in, Slot a, Slot b, Slot c) {
  Slot result;
  if (in.isExact && computeExact(in, a, b, c, result))
    return result;
  result = computeWhole(in, a, b, c);
  if (in.rounds)
    result.f = static_cast<float>(result.f);
  return result;
}

void execute(const Code &code, Frame &frame) {
  Slot *slots = frame.slots.data();
  for (const Instruction &in : code) {
    if (in.opcode == Opcode::Node)
      in.node->run(frame);
    else
      slots[in.result] = compute(in, slots[in.operands[0]],
                                 slots[in.operands[1]], slots[in.operands[2]]);
  }
}

void executeRow(const Instruction &in, const Slot *a, const Slot *b,
                const Slot *c, Slot *result, int64_t count) {
  auto forEach = [&](auto operation) {
    for (int64_t i = 0; i < count; ++i)
      result[i] = operation(a[i], b[i], c[i]);
  };
  auto forFloats = [&](auto operation) {
    for (int64_t i = 0; i < count; ++i)
      result[i].f = operation(a[i].f, b[i].f);
  };
  // The compiler makes one tight loop of each of the common ones.
  const Opcode opcode = in.isExact || in.rounds ? Opcode::Node : in.opcode;
  switch (opcode) {
  case Opcode::AddF:
    return forFloats([](double x, double y) { return x + y; });
  case Opcode::SubF:
    return forFloats([](double x, double y) { return x - y; });
  case Opcode::MulF:
    return forFloats([](double x, double y) { return x * y; });
  case Opcode::DivF:
    return forFloats([](double x, double y) { return x / y; });
  case Opcode::MaximumF:
    return forFloats(maximum);
  case Opcode::MoveF:
    return forFloats([](double x, double) { return x; });
  case Opcode::Sqrt:
    return forFloats([](double x, double) { return std::sqrt(x); });
  case Opcode::Select:
    return forEach([](Slot x, Slot y, Slot z) { return x.i ? y : z; });
  case Opcode::CmpF:
    return forEach([&](Slot x, Slot y, Slot) {
      Slot holds;
      holds.i = compareFloats(in.predicate, x.f, y.f);
      return holds;
    });
  default:
    return forEach(
        [&](Slot x, Slot y, Slot z) { return compute(in, x, y, z); });
  }
}

} // namespace zc::interpreter
