// Convolutions of 3x3 taps in steps of one pixel, and their gradients, by
// Winograd's minimal filtering: 4x4 results (or 3x3 sums of a filter's
// gradient) from patches of 6x6 pixels by 36 products instead of 144 (S.
// Winograd, "Arithmetic complexity of computations", 1980; A. Lavin, S. Gray,
// "Fast algorithms for convolutional neural networks", CVPR 2016).
//
// Patches, filters and gradients are transformed to 36 frequencies each; at
// every frequency the channels are one product of matrices; the products are
// transformed back. The polynomials meet at 0, +-5/8, +-3/2 and infinity, which
// amplify rounding least among such points of few bits, and products are added
// up in short sums: then the error is that of direct float32, and at most 4
// times it where channels are few (WinogradTest.cpp). With the usual points
// +-1, +-2 and one long sum it is 5 to 9 times. An infinite pixel makes NaNs of
// its tiles' results, where direct sums are infinite at 9 of them.
#ifndef ZC_KERNELS_CPU_WINOGRAD_H
#define ZC_KERNELS_CPU_WINOGRAD_H

#include "kernels/Calls/Division/WinogradBlocks.h"

namespace zc::kernels {

/// Images [batch, height, width, channels] in tiles of 4x4 pixels. A tile's
/// patch, of 6x6 pixels, begins `pad` pixels before the tile's place; what lies
/// outside is 0. Index 0 is vertical, 1 horizontal.
struct WinogradImages {
  float *pixels;
  int64_t channels, size[2], pad[2], tiles[2]; // tiles of one image
};

/// A filter [filters, channels, 3, 3] by the distances of its `columns` and its
/// rows, the channels that are made and read: 9 floats are one's taps.
struct WinogradFilter {
  float *taps;
  int64_t rows, columns, rowStride, columnStride;
  bool reversed; // taps in the opposite order, for a source's gradient
};

/// Some rows and columns.
struct WinogradSquare {
  int64_t row, rows, column, columns;
};

/// c [rows, columns] = or += a [rows, depth] b [depth, columns]; rows of c are
/// contiguous, and columns are whole sixteens; b lies in slices of as many
/// columns as the functions say. The depth lies in blocks.
struct WinogradProduct {
  const float *a, *b;
  float *c;
  int64_t rows, columns, depth, blockDepth;
  int64_t aRow, aColumn, aBlock, bRow, bSlice, bBlock, cRow;
  bool accumulate;
};

/// The functions of one instruction set. Frequencies lie `step` floats apart.
struct WinogradFunctions {
  /// `count` channels from the first of `images` on, of a tile's patch, or of
  /// its own pixels as the taps of a gradient.
  void (*transformPatch)(const WinogradImages &images, int64_t tile,
                         int64_t count, float *to, int64_t step);
  void (*transformPixels)(const WinogradImages &images, int64_t tile,
                          int64_t count, float *to, int64_t step);
  /// Columns that a register tile takes: so many of a panel lie together, so
  /// that they stay in the first-level cache for many rows.
  int64_t slice;
  /// Some rows and columns of a filter, to slices that lie `sliceStep` floats
  /// apart.
  void (*transformFilter)(const WinogradFilter &, const WinogradSquare &part,
                          float *to, int64_t step, int64_t sliceStep);
  void (*multiply)(const WinogradProduct &);
  /// Some channels of a tile's pixels, from their frequencies.
  void (*makePixels)(const float *from, int64_t step, const WinogradImages &,
                     int64_t tile, int64_t channel, int64_t count);
  /// One row and some columns of a filter.
  void (*makeFilter)(const float *from, int64_t step, const WinogradFilter &,
                     int64_t row, int64_t column, int64_t count);
};

namespace baseline {
WinogradFunctions winogradFunctions();
}
namespace avx2 {
WinogradFunctions winogradFunctions();
}
namespace avx512 {
WinogradFunctions winogradFunctions();
}

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_WINOGRAD_H
