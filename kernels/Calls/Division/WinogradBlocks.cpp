// Decides which convolutions Winograd's way computes, where it is quicker, and
// divides them. Links nothing: the compiler plans the scratch memory by it.
#include "kernels/Calls/Division/WinogradBlocks.h"
#include "kernels/Calls/Division/PointwiseProduct.h"
#include "kernels/Rounding.h"

#include <algorithm>

namespace zc::kernels {
namespace {

// A part, once transformed, stays in a third-level cache.
constexpr int64_t kPartFloats = 1 << 19, kPartFloatsEach = 1 << 18;
// All scratch memory, and a part of many threads: two parts take half of it,
// and the threads' results, or the third part of a filter's gradient, the rest.
constexpr int64_t kMostFloats = kWinogradMostBytes / 4,
                  kMostPartFloats = kMostFloats / 4;
constexpr int64_t kBlockTiles = 32, kLeastTiles = 8;
// A block of so many rows, its sums and the panels it meets stay in the second.
constexpr int64_t kFewRows = 128, kFewColumns = 128;

bool isPlain(const ConvolutionSpec &spec) {
  for (size_t i = 0; i < 2; ++i)
    if (spec.filter.dims[2 + i] != 3 || spec.strides[i] != 1 ||
        spec.dilations[i] != 1 || spec.padsLow[i] > 2 || spec.padsHigh[i] > 2)
      return false;
  return spec.groups == 1;
}

/// The image that tiles are of.
const StridedTensor &madeOf(const ConvolutionSpec &spec) {
  return spec.kind == ConvolutionKind::BackwardInput ? spec.source
                                                     : spec.destination;
}

int64_t pixelsOf(const StridedTensor &image) {
  return image.dims[0] * image.dims[2] * image.dims[3];
}

int64_t tilesOf(const ConvolutionSpec &spec) {
  const StridedTensor &made = madeOf(spec);
  return made.dims[0] * ceilDivide(made.dims[2], kWinogradTile) *
         ceilDivide(made.dims[3], kWinogradTile);
}

/// At most `most` at a time, in equal parts of whole `unit`s.
int64_t partOf(int64_t all, int64_t most, int64_t unit) {
  int64_t parts = ceilDivide(all, std::max(unit, most));
  return roundUp(ceilDivide(all, parts), unit);
}

/// A filter's gradient transforms both of its images, by rows and by columns.
void setPart(int64_t mostFloats, WinogradBlocks &blocks) {
  int64_t channels = blocks.rows;
  if (blocks.ofFilter)
    channels = std::max(channels, blocks.partColumns);
  int64_t most = mostFloats / (kFrequencies * apartInCache(channels));
  blocks.partTiles = partOf(blocks.tiles, most, blocks.blockTiles);
}

} // namespace

bool mayWinograd(const ConvolutionSpec &spec) {
  if (spec.filter.dims.size() != 4 || !isPlain(spec) ||
      !isDenseChannelsLast(spec.source) ||
      !isDenseChannelsLast(spec.destination) || !isDense(spec.filter))
    return false;
  for (const StridedTensor *tensor :
       {&spec.source, &spec.filter, &spec.destination})
    if (tensor->type != ElementType::F32)
      return false;
  return spec.filter.dims[0] % 16 == 0 && spec.filter.dims[1] % 16 == 0;
}

// Measured against oneDNN's direct convolutions, in root mean squares of normal
// and of non-negative data: 2.0 to 2.7 times with 32 to 48 channels, 3.3 with
// AVX2, whose sums are shorter; at most 1.5 from 64 on. Filters' gradients, the
// most of several seeds: 3.8 times with 384 to 2048 pixels in 6 images, 4.1
// with 400 in 4 images, 3.6 with 2116 in 4, 3.0 in one; 4.2 with 1024 pixels
// and 16 channels; 3.7 to 4.4 with 256 pixels. With oneDNN's AVX2 at most 1.6.
bool isAccurateByWinograd(const ConvolutionSpec &spec) {
  constexpr int64_t kFewChannels = 32, kFewImages = 6, kFewPixels = 384,
                    kManyPixels = 2048;
  if (!mayWinograd(spec))
    return false;
  if (spec.kind == ConvolutionKind::Forward)
    return spec.filter.dims[1] >= kFewChannels;
  if (spec.kind == ConvolutionKind::BackwardInput)
    return spec.filter.dims[0] >= kFewChannels;
  if (std::min(spec.filter.dims[0], spec.filter.dims[1]) < kFewChannels)
    return false;
  int64_t pixels = pixelsOf(spec.destination);
  return pixels >= kManyPixels ||
         (pixels >= kFewPixels && spec.source.dims[0] >= kFewImages);
}

// Transforming the filter must pay, and tiles must not reach far beyond the
// images. Measured on an AMD EPYC with AVX-512, one and two threads, of the
// library's time: 0.40 to 0.57 for ResNet-50's; 0.33 to 0.6 for 512 channels of
// 256 pixels in all; with 32 channels 0.5 to 0.6 for one image of 56x56, 0.7 to
// 0.8 for 8 of 7x7, 1.0 for 8 of 6x6, up to 1.2 for 64 of 3x3; 1.2 for 512
// channels of one image of 7x7. With AVX2 0.4 to 0.7.
bool winogradIsQuicker(const ConvolutionSpec &spec) {
  constexpr int64_t kFewPixels = 256, kLeastChannels = 32, kFewChannels = 64;
  int64_t channels = std::min(spec.filter.dims[0], spec.filter.dims[1]);
  if (!isAccurateByWinograd(spec) || channels < kLeastChannels)
    return false;
  int64_t pixels = pixelsOf(madeOf(spec));
  int64_t ofTile = channels < kFewChannels ? 12 : 8; // of its 16 pixels
  return pixels >= kFewPixels && ofTile * tilesOf(spec) <= pixels &&
         winogradWorkspace(spec, 1) > 0;
}

static WinogradBlocks::Order orderOf(const WinogradBlocks &blocks,
                                     int threads) {
  if (blocks.ofFilter)
    return WinogradBlocks::ByParts;
  int64_t panels = ceilDivide(blocks.columns, kWinogradPanel);
  if (blocks.tiles <= kBlockTiles && panels >= threads)
    return WinogradBlocks::ByPanels;
  bool isMany = blocks.tiles >= 2 * threads * kBlockTiles;
  return isMany && blocks.rows <= kFewRows && blocks.columns <= kFewColumns
             ? WinogradBlocks::ByBlocks
             : WinogradBlocks::ByParts;
}

/// Sizes of parts, and of blocks where there would be too few tasks.
static void divideIntoParts(int threads, WinogradBlocks &blocks) {
  int64_t most =
      std::clamp(threads * kPartFloatsEach, kPartFloats, kMostPartFloats);
  int64_t panels = most / (kFrequencies * blocks.rows) / kWinogradPanel;
  blocks.partColumns =
      std::min(blocks.columns,
               partOf(blocks.columns, panels * kWinogradPanel, kWinogradPanel));
  setPart(most, blocks);
  while (!blocks.ofFilter && blocks.blockTiles > kLeastTiles &&
         (blocks.tasks() < 2 * threads ||
          blocks.madeFloats(threads) > kMostFloats / 2)) {
    blocks.blockTiles = ceilDivide(blocks.blockTiles, 2);
    setPart(most, blocks);
  }
}

/// Smaller blocks where those of many threads would take too much memory.
static void divideIntoBlocks(int threads, WinogradBlocks &blocks) {
  while (blocks.blockTiles > kLeastTiles &&
         blocks.bytes(threads) > kWinogradMostBytes) {
    blocks.blockTiles = ceilDivide(blocks.blockTiles, 2);
    blocks.partTiles = roundUp(blocks.tiles, blocks.blockTiles);
  }
}

WinogradBlocks divideWinograd(const ConvolutionSpec &spec, int threads) {
  bool forward = spec.kind == ConvolutionKind::Forward;
  WinogradBlocks blocks = {};
  blocks.ofFilter = spec.kind == ConvolutionKind::BackwardFilter;
  blocks.rows = spec.filter.dims[forward ? 1 : 0];
  blocks.columns = spec.filter.dims[forward ? 0 : 1];
  blocks.tiles = tilesOf(spec);
  blocks.blockTiles = std::min(kBlockTiles, blocks.tiles);
  blocks.order = orderOf(blocks, threads);
  blocks.partTiles = roundUp(blocks.tiles, blocks.blockTiles);
  blocks.partColumns = blocks.columns;
  if (blocks.order == WinogradBlocks::ByParts)
    divideIntoParts(threads, blocks);
  else if (blocks.order == WinogradBlocks::ByBlocks)
    divideIntoBlocks(threads, blocks);
  return blocks;
}

int64_t WinogradBlocks::tasks() const {
  return partTiles / blockTiles * ceilDivide(partColumns, kWinogradPanel);
}

int64_t WinogradBlocks::readFloats(int threads) const {
  if (order == ByBlocks)
    return threads * kFrequencies * tileStep(rows);
  return ceilDivide(rows, readChannels()) * partFloats(readChannels());
}

int64_t WinogradBlocks::otherFloats(int threads) const {
  if (ofFilter)
    return partFloats(partColumns);
  int64_t panels =
      order == ByPanels ? threads : ceilDivide(partColumns, kWinogradPanel);
  return panels * kFrequencies * panelStep();
}

int64_t WinogradBlocks::madeFloats(int threads) const {
  if (ofFilter)
    return kFrequencies * sumStep();
  return threads * blockTiles * kTileFloats;
}

uint64_t winogradWorkspace(const ConvolutionSpec &spec, int threads) {
  uint64_t most = 0;
  for (int team = 1; team <= std::max(1, threads); ++team)
    if (uint64_t bytes = divideWinograd(spec, team).bytes(team);
        bytes <= kWinogradMostBytes)
      most = std::max(most, bytes);
  return most;
}

} // namespace zc::kernels
