// Small matrix products in registers, in the namespace and with the vectors of
// the instruction set that the including file is compiled for. Includes nothing
// that is inline in other files too: their copies would be of that set.
#ifndef ZC_KERNELS_CPU_TILEPRODUCT_H
#define ZC_KERNELS_CPU_TILEPRODUCT_H

#include <cstdint>

namespace zc::kernels::ZC_ISA {

#if defined(__AVX512F__)
constexpr int kLanes = 16, kTileVectors = 4;
#elif defined(__AVX2__)
constexpr int kLanes = 8, kTileVectors = 2;
#elif defined(__aarch64__)
constexpr int kLanes = 4, kTileVectors = 4;
#else
constexpr int kLanes = 4, kTileVectors = 2;
#endif
constexpr int kTileRows = 6; // times kTileVectors: the registers there are

typedef float Vector __attribute__((vector_size(4 * kLanes)));
typedef int32_t IntVector __attribute__((vector_size(4 * kLanes)));
typedef float UnalignedVector
    __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));

static inline Vector load(const float *from) {
  return *reinterpret_cast<const UnalignedVector *>(from);
}
static inline void store(float *to, Vector value) {
  *reinterpret_cast<UnalignedVector *>(to) = value;
}
static inline Vector broadcast(float value) { return value - Vector{}; }

template <int N> struct Count { static constexpr int value = N; };

/// A matrix by the address of its first element and its strides.
struct Factor {
  const float *data;
  int64_t row, column;
};

/// c [Rows, Vectors * kLanes] = or += a [Rows, depth] b [depth, ...], the rows
/// of b and c being contiguous.
template <int Rows, int Vectors>
static inline void multiplyTile(Factor a, const float *b, int64_t bRow,
                                int64_t depth, float *c, int64_t cRow,
                                bool accumulate) {
  Vector sum[Rows][Vectors];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v)
      sum[r][v] = accumulate ? load(c + r * cRow + v * kLanes) : Vector{};
  for (int64_t k = 0; k < depth; ++k) {
    Vector row[Vectors];
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v)
      row[v] = load(b + k * bRow + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      Vector factor = broadcast(a.data[r * a.row + k * a.column]);
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v)
        sum[r][v] += factor * row[v];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v)
      store(c + r * cRow + v * kLanes, sum[r][v]);
}

template <int Vectors>
static void multiplyColumns(int64_t rows, int64_t depth, Factor a,
                            const float *b, int64_t bRow, float *c,
                            int64_t cRow, bool accumulate) {
  int64_t r = 0;
  auto step = [&](auto count) {
    constexpr int kRows = decltype(count)::value;
    Factor part = {a.data + r * a.row, a.row, a.column};
    multiplyTile<kRows, Vectors>(part, b, bRow, depth, c + r * cRow, cRow,
                                 accumulate);
    r += kRows;
  };
  for (; r + kTileRows <= rows;)
    step(Count<kTileRows>());
  if (rows - r >= 4)
    step(Count<4>());
  if (rows - r >= 2)
    step(Count<2>());
  if (rows - r >= 1)
    step(Count<1>());
}

/// c [rows, columns] = or += a [rows, depth] b [depth, columns]; `columns` is a
/// multiple of 16, the rows of b and c are contiguous.
static inline void multiply(int64_t rows, int64_t columns, int64_t depth,
                            Factor a, const float *b, int64_t bRow, float *c,
                            int64_t cRow, bool accumulate) {
  int64_t at = 0;
  for (; at + kTileVectors * kLanes <= columns; at += kTileVectors * kLanes)
    multiplyColumns<kTileVectors>(rows, depth, a, b + at, bRow, c + at, cRow,
                                  accumulate);
  for (; at < columns; at += kLanes)
    multiplyColumns<1>(rows, depth, a, b + at, bRow, c + at, cRow, accumulate);
}

} // namespace zc::kernels::ZC_ISA

#endif // ZC_KERNELS_CPU_TILEPRODUCT_H
