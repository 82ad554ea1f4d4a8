// Decides which convolutions Winograd's way can compute, where it is quicker,
// and how their work is divided (kernels/Cpu/Winograd.h).
#ifndef ZC_KERNELS_CALLS_DIVISION_WINOGRADBLOCKS_H
#define ZC_KERNELS_CALLS_DIVISION_WINOGRADBLOCKS_H

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

#endif // ZC_KERNELS_CALLS_DIVISION_WINOGRADBLOCKS_H
