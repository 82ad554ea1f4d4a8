// Functions of vectors that attention uses, in the namespace and with the
// vectors of the instruction set that the including file is compiled for.
// Static, as TileProduct.h is.
#ifndef ZC_KERNELS_CPU_VECTORMATH_H
#define ZC_KERNELS_CPU_VECTORMATH_H

#include "kernels/Cpu/TileProduct.h"

namespace zc::kernels::ZC_ISA {

/// e^x to 1e-7, relative; 0 becomes some 1e-38 far below, NaN stays NaN.
static inline Vector exponential(Vector x) {
  const Vector low = broadcast(-87.0f), high = broadcast(88.0f);
  x = x < low ? low : x;
  x = x > high ? high : x;
  Vector scaled = x * 1.44269504f;
  Vector half = scaled < Vector{} ? broadcast(-0.5f) : broadcast(0.5f);
  IntVector whole = __builtin_convertvector(scaled + half, IntVector);
  Vector n = __builtin_convertvector(whole, Vector);
  Vector r = x - n * 0.693359375f;
  r = r + n * 2.12194440e-4f;
  Vector p = broadcast(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  IntVector bits = (whole + 127) << 23;
  Vector power;
  __builtin_memcpy(&power, &bits, sizeof(power));
  return p * power;
}

/// Lane l is lane l + Distance of `value`, from the first on again.
template <int Distance> static inline Vector rotated(Vector value) {
  IntVector lanes;
  for (int lane = 0; lane < kLanes; ++lane)
    lanes[lane] = (lane + Distance) % kLanes;
  return __builtin_shuffle(value, lanes);
}

// Halves on halves, in registers: lane by lane would wait for every addition.
template <int Half = kLanes / 2> static inline float sumOf(Vector value) {
  value += rotated<Half>(value);
  if constexpr (Half == 1)
    return value[0];
  else
    return sumOf<Half / 2>(value);
}

template <int Half = kLanes / 2> static inline float largestOf(Vector value) {
  const Vector other = rotated<Half>(value);
  value = other > value ? other : value;
  if constexpr (Half == 1)
    return value[0];
  else
    return largestOf<Half / 2>(value);
}

} // namespace zc::kernels::ZC_ISA

#endif // ZC_KERNELS_CPU_VECTORMATH_H
