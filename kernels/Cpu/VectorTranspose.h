// A square of floats transposed in registers, in the namespace and with the
// vectors of the instruction set that the including file is compiled for.
// Static, as TileProduct.h is.
#ifndef ZC_KERNELS_CPU_VECTORTRANSPOSE_H
#define ZC_KERNELS_CPU_VECTORTRANSPOSE_H

#include "kernels/Cpu/TileProduct.h"

namespace zc::kernels::ZC_ISA {

/// One of two rows after a step of transposing: lane l of `low` where l's bit
/// `Distance` is clear, else lane l - Distance of `high`; with `Upper` lane l +
/// Distance of `low`, else lane l of `high`.
template <int Distance, bool Upper>
static inline Vector exchange(Vector low, Vector high) {
  IntVector mask;
  for (int lane = 0; lane < kLanes; ++lane)
    mask[lane] = lane & Distance ? kLanes + (Upper ? lane : lane - Distance)
                                 : (Upper ? lane + Distance : lane);
  return __builtin_shuffle(low, high, mask);
}

template <int Distance> static inline void exchangeAll(Vector *rows) {
#pragma GCC unroll 16
  for (int row = 0; row < kLanes; ++row) {
    if (row & Distance)
      continue;
    Vector low = rows[row], high = rows[row + Distance];
    rows[row] = exchange<Distance, false>(low, high);
    rows[row + Distance] = exchange<Distance, true>(low, high);
  }
}

/// A square of as many rows as a vector has lanes.
static inline void transpose(Vector *rows) {
#if defined(__AVX512F__)
  exchangeAll<8>(rows);
#endif
#if defined(__AVX2__)
  exchangeAll<4>(rows);
#endif
  exchangeAll<2>(rows);
  exchangeAll<1>(rows);
}

} // namespace zc::kernels::ZC_ISA

#endif // ZC_KERNELS_CPU_VECTORTRANSPOSE_H
