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

#include "kernels/Calls/Convolution.h"

namespace zc::kernels {

constexpr int64_t kFrequencies = 36, kWinogradPatch = 6, kWinogradTile = 4;
/// Columns of a panel: channels that one task computes.
constexpr int64_t kWinogradPanel = 64;
/// Products that are added up before the sum is added to others.
constexpr int64_t kWinogradSum = 16;
/// Rows of a panel that a task transforms at a time.
constexpr int64_t kWinogradRows = 32;
/// Bytes of scratch memory that a call takes at most, however many threads
/// there are.
constexpr uint64_t kWinogradMostBytes = 32 << 20;

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

/// c [rows, columns] = or += a [rows, depth] b [depth, columns]; rows of b and
/// c are contiguous, and columns are whole sixteens. The depth lies in blocks.
struct WinogradProduct {
  const float *a, *b;
  float *c;
  int64_t rows, columns, depth, blockDepth;
  int64_t aRow, aColumn, aBlock, bRow, bBlock, cRow;
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
  /// Some rows and columns of a filter, to rows of kWinogradPanel floats.
  void (*transformFilter)(const WinogradFilter &, const WinogradSquare &part,
                          float *to, int64_t step);
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

/// Floats from one tile to the next, or from one frequency to the next: what
/// lies a power of two apart would fall into few sets of a cache.
constexpr int64_t apartInCache(int64_t floats) {
  return floats + (floats % 32 == 0 ? 16 : 0);
}

/// How the work is divided, so that what is transformed at a time stays in the
/// caches. No bit of the results depends on it.
struct WinogradBlocks {
  int64_t tiles, rows, columns;   // of a convolution: channels read and made
  int64_t blockTiles;             // a task takes so many of them
  int64_t partTiles, partColumns; // transformed at a time
  bool ofFilter;                  // a filter's gradient
  /// Tiles are transformed for all panels and the filter for all blocks, each
  /// in parts; or each task transforms its own block of tiles, for a small
  /// filter, or its own panel of the filter, some rows at a time, for few
  /// tiles: what it makes then stays in a second-level cache.
  enum Order { ByParts, ByBlocks, ByPanels } order;

  /// Channels of the image that is read that lie together.
  int64_t readChannels() const {
    return order == ByPanels ? kWinogradRows : rows;
  }
  /// Floats from one tile to the next of a block with so many channels.
  static constexpr int64_t tileRow(int64_t channels) {
    return channels > kWinogradRows ? apartInCache(channels) : channels;
  }
  /// Floats from one frequency of a block's tiles to the next, of a panel of
  /// the filter, of a part of the filter's gradient.
  int64_t tileStep(int64_t channels) const {
    return apartInCache(blockTiles * tileRow(channels));
  }
  int64_t panelStep() const {
    return apartInCache(readChannels() * kWinogradPanel);
  }
  int64_t sumStep() const {
    return apartInCache(rows * apartInCache(partColumns));
  }
  /// Floats of a tile's results in a panel.
  static constexpr int64_t kTileFloats =
      apartInCache(kFrequencies * kWinogradPanel);

  /// Floats of all blocks of a part with so many channels.
  int64_t partFloats(int64_t channels) const {
    return partTiles / blockTiles * kFrequencies * tileStep(channels);
  }

  /// Tasks of a part, each of a block and a panel.
  int64_t tasks() const;

  /// Floats of everything in scratch memory: of the images that are read, a
  /// filter or its gradient's other image, what is computed; each on so many
  /// threads.
  int64_t readFloats(int threads) const;
  int64_t otherFloats(int threads) const;
  int64_t madeFloats(int threads) const;
  uint64_t bytes(int threads) const {
    return 4 *
           (readFloats(threads) + otherFloats(threads) + madeFloats(threads));
  }
};

WinogradBlocks divideWinograd(const ConvolutionSpec &spec, int threads);

/// Whether it can be computed so: float32, dense channels-last images with
/// channels in sixteens, a filter of 3x3 taps, no steps, dilation or groups.
bool mayWinograd(const ConvolutionSpec &spec);

/// Whether it can, and its error then stays within 4 times that of direct
/// float32 sums: those of few terms err so little that Winograd's err more.
bool isAccurateByWinograd(const ConvolutionSpec &spec);

/// Whether it is also quicker than the library's vectors: a rule of
/// measurements.
bool winogradIsQuicker(const ConvolutionSpec &spec);

/// Bytes of scratch memory that are enough for every number of threads up to
/// `threads`; at most kWinogradMostBytes: a number that needs more is left out,
/// and the call then runs on fewer. 0 where a single thread needs more, as it
/// does with more than 3500 channels.
uint64_t winogradWorkspace(const ConvolutionSpec &spec, int threads);

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_WINOGRAD_H
