//===- Fractions.cpp - constants that stand for fractions -----------------===//
#include "compiler/Interpreter/Fractions.h"

#include <cmath>
#include <utility>

namespace zc::interpreter {

double fractionOf(double number) {
  // Most other numbers have none of which the numerator times the denominator
  // is below it, as float32 has 24 bits.
  constexpr double kMost = 1 << 20;
  // Convergents of the continued fraction: the best of their denominators.
  double above = 1, below = 0, lastAbove = 0, lastBelow = 1, rest = number;
  for (int i = 0; i < 16; ++i) {
    const double whole = std::floor(rest);
    lastAbove = std::exchange(above, whole * above + lastAbove);
    lastBelow = std::exchange(below, whole * below + lastBelow);
    if (std::abs(above) * below > kMost)
      return number;
    if (static_cast<float>(above / below) == static_cast<float>(number))
      return above / below;
    rest = 1 / (rest - whole);
  }
  return number;
}

} // namespace zc::interpreter
