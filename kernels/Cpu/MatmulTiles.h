// Products of matrices by packed panels: K. Goto, R. van de Geijn,
// "Anatomy of high-performance matrix multiplication", ACM TOMS 34(3), 2008.
// Compiled per instruction set; the calls below are chosen when a kernel is
// created. Private to this folder.
#ifndef ZC_KERNELS_CPU_MATMULTILES_H
#define ZC_KERNELS_CPU_MATMULTILES_H

#include "kernels/Cpu/SoonRead.h"

#include <cstdint>

namespace zc::kernels {

/// Rows of a, or columns of b, as they lie: each is a line of `depth` elements.
/// One of the strides, in elements, is 1.
struct MatmulLines {
  const void *data;
  int64_t lineStride, depthStride;
};

/// c [rows, columns] = the product of packed lines, on top of `start` where
/// there is one. The columns of c and of start are contiguous.
struct MatmulPanels {
  const void *a, *b;
  int64_t rows, columns, depth;
  const float *start;
  int64_t startRow;
  void *c;
  int64_t cRow;
  bool narrow; // c is bfloat16, else float32
  /// The rows of c, and of start, that are written; null: the first ones.
  /// Vectors alone support it, not AMX.
  const int32_t *places;
  SoonRead soon; // what is packed next
};

struct MatmulTileFunctions {
  using Pack = void (*)(const MatmulLines &lines, int64_t count, int64_t depth,
                        void *to);

  /// Copies `count` lines into panels, as many lines in each as a register tile
  /// takes, in the order in which it reads them. `to` is aligned to 64 bytes.
  Pack packRows, packColumns;
  void (*multiply)(const MatmulPanels &panels);
};

// These multiply float32, or bfloat16 as float32: factors are converted as they
// are packed.
namespace baseline {
MatmulTileFunctions matmulTileFunctions(bool ofBFloat16 = false);
}
namespace avx2 {
MatmulTileFunctions matmulTileFunctions(bool ofBFloat16 = false);
}
namespace avx512 {
MatmulTileFunctions matmulTileFunctions(bool ofBFloat16 = false);
}
// With float32 sums: of bfloat16, or of float32 as sums of two or three
// bfloat16 numbers, its parts.
namespace amx {
MatmulTileFunctions matmulTileFunctions(int floatParts = 0);
}

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_MATMULTILES_H
