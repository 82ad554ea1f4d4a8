// Convolutions and their sources' gradients by Winograd's way. The patches of
// some tiles are transformed, and some columns of the filter; then each task
// multiplies a block of tiles by a panel of columns and transforms it back.
// Which thread does a task, and how many there are, changes no bit.
#include "kernels/Cpu/Winograd.h"
#include "kernels/Cpu/ConvolutionWays.h"
#include "kernels/Cpu/InstructionSet.h"
#include "kernels/Cpu/Parallel.h"
#include "kernels/Cpu/ScratchSlots.h"
#include "kernels/Rounding.h"

#include <algorithm>

namespace zc::kernels {
namespace {

WinogradImages describeImages(const StridedTensor &image) {
  WinogradImages images = {};
  images.channels = image.dims[1];
  for (int i = 0; i < 2; ++i)
    images.size[i] = image.dims[2 + i];
  return images;
}

/// Tiles are those of the made image, and so are the patches' places.
void setTiles(const WinogradImages &made, const int64_t *pad,
              WinogradImages &images) {
  for (int i = 0; i < 2; ++i) {
    images.tiles[i] = ceilDivide(made.size[i], kWinogradTile);
    images.pad[i] = pad[i];
  }
}

/// Both kinds of Winograd's kernels are one.
class WinogradKernel : public Primitive {
public:
  WinogradKernel(const ConvolutionSpec &spec, InstructionSet set, int threads)
      : blocks(divideWinograd(spec, threads)), threads(threads), set(set),
        functions(ZC_OF_INSTRUCTION_SET(set, winogradFunctions())) {}

  std::string implementation() const override {
    return std::string("winograd:") + nameOf(set);
  }
  uint64_t workspaceBytes() const override { return blocks.bytes(threads); }

protected:
  using Transform = void (*)(const WinogradImages &, int64_t, int64_t, float *,
                             int64_t);

  /// Transforms `channels` channels of the tiles of the part that begins with
  /// `first`; some of the channels lie together.
  void transformTiles(Transform transform, const WinogradImages &images,
                      int64_t first, int64_t channels, int64_t together,
                      float *to) const {
    int64_t tiles = tilesFrom(first), step = blocks.tileStep(together);
    parallelForEach(
        tiles * ceilDivide(channels, together), threads, [&](int64_t task) {
          int64_t tile = task % tiles, channel = task / tiles * together;
          WinogradImages some = images;
          some.pixels += channel;
          float *block =
              blockAt(to + channel / together * blocks.partFloats(together),
                      tile / blocks.blockTiles, together);
          transform(some, first + tile, std::min(together, channels - channel),
                    block + tile % blocks.blockTiles * blocks.tileRow(together),
                    step);
        });
  }

  /// Tiles of the part that begins with `first`.
  int64_t tilesFrom(int64_t first) const {
    return std::min(blocks.partTiles, blocks.tiles - first);
  }
  int64_t columnsFrom(int64_t first) const {
    return std::min(blocks.partColumns, blocks.columns - first);
  }

  template <typename Float>
  Float *blockAt(Float *begin, int64_t block, int64_t channels) const {
    return begin + block * kFrequencies * blocks.tileStep(channels);
  }

  WinogradBlocks blocks;
  int threads;
  InstructionSet set;
  WinogradFunctions functions;
};

class Winograd final : public WinogradKernel {
public:
  Winograd(const ConvolutionSpec &spec, InstructionSet set, int threads)
      : WinogradKernel(spec, set, threads),
        backward(spec.kind == ConvolutionKind::BackwardInput),
        read(describeImages(backward ? spec.destination : spec.source)),
        made(describeImages(backward ? spec.source : spec.destination)),
        filter({nullptr, blocks.rows, blocks.columns,
                backward ? 9 * blocks.columns : 9,
                backward ? 9 : 9 * blocks.rows, backward}),
        slots(threads) {
    int64_t pads[2];
    for (int i = 0; i < 2; ++i)
      pads[i] = backward ? 2 - spec.padsLow[i] : spec.padsLow[i];
    setTiles(made, pads, read);
    setTiles(made, pads, made);
  }

  bool execute(void *const *pointers, void *workspace,
               std::string *) noexcept override {
    read.pixels = static_cast<float *>(pointers[backward ? 2 : 0]);
    made.pixels = static_cast<float *>(pointers[backward ? 0 : 2]);
    filter.taps = static_cast<float *>(pointers[1]);
    patches = static_cast<float *>(workspace);
    panels = patches + blocks.readFloats(threads);
    results = panels + blocks.otherFloats(threads);
    if (blocks.order == WinogradBlocks::ByBlocks)
      computeByBlocks();
    else if (blocks.order == WinogradBlocks::ByPanels)
      computeByPanels();
    else
      computeByParts();
    return true;
  }

private:
  void computeByParts() {
    bool whole = blocks.partColumns == blocks.columns;
    for (int64_t tile = 0; tile < blocks.tiles; tile += blocks.partTiles) {
      transformTiles(functions.transformPatch, read, tile, blocks.rows,
                     blocks.rows, patches);
      for (int64_t column = 0; column < blocks.columns;
           column += blocks.partColumns) {
        if (!whole || tile == 0)
          transformFilter(column);
        multiplyPart(tile, column);
      }
    }
  }

  void computeByBlocks() {
    transformFilter(0);
    parallelForEach(ceilDivide(blocks.tiles, blocks.blockTiles), threads,
                    [&](int64_t block) { computeBlock(block); });
  }

  void computeByPanels() {
    transformTiles(functions.transformPatch, read, 0, blocks.rows,
                   kWinogradRows, patches);
    parallelForEach(ceilDivide(blocks.columns, kWinogradPanel), threads,
                    [&](int64_t panel) { computePanel(panel); });
  }

  /// Every panel of a part of the columns, some rows at a time.
  void transformFilter(int64_t column) const {
    int64_t count = columnsFrom(column),
            rowParts = ceilDivide(blocks.rows, kWinogradRows);
    parallelForEach(ceilDivide(count, kWinogradPanel) * rowParts, threads,
                    [&](int64_t task) {
                      int64_t panel = task / rowParts,
                              row = task % rowParts * kWinogradRows;
                      transformRows(
                          row, column + panel * kWinogradPanel,
                          panels + panel * kFrequencies * blocks.panelStep() +
                              row * functions.slice);
                    });
  }

  /// Some rows of the filter's panel that begins with the column.
  void transformRows(int64_t row, int64_t column, float *to) const {
    functions.transformFilter(
        filter,
        {row, std::min(kWinogradRows, blocks.rows - row), column,
         std::min(kWinogradPanel, blocks.columns - column)},
        to, blocks.panelStep(), sliceStep());
  }

  /// Floats from one slice of a panel's columns to the next.
  int64_t sliceStep() const { return blocks.readChannels() * functions.slice; }

  void multiplyPart(int64_t tile, int64_t column) {
    int64_t tileBlocks = ceilDivide(tilesFrom(tile), blocks.blockTiles);
    int64_t count = ceilDivide(columnsFrom(column), kWinogradPanel);
    parallelForEach(tileBlocks * count, threads, [&](int64_t task) {
      int slot = slots.take();
      int64_t block = task % tileBlocks, panel = task / tileBlocks;
      Block tiles =
          blockFrom(tile, block, blockAt(patches, block, blocks.rows));
      computeTiles(tiles, column + panel * kWinogradPanel, panelAt(panel),
                   sumsOf(slot));
      slots.give(slot);
    });
  }

  /// All panels of a block.
  void computeBlock(int64_t block) {
    int slot = slots.take();
    float *own = blockAt(patches, slot, blocks.rows);
    Block tiles = blockFrom(0, block, own);
    for (int64_t i = 0; i < tiles.count; ++i)
      functions.transformPatch(read, tiles.first + i, blocks.rows,
                               own + i * blocks.tileRow(blocks.rows),
                               blocks.tileStep(blocks.rows));
    for (int64_t column = 0; column < blocks.columns; column += kWinogradPanel)
      computeTiles(tiles, column, panelAt(column / kWinogradPanel),
                   sumsOf(slot));
    slots.give(slot);
  }

  /// All tiles, which are one block, of a panel.
  void computePanel(int64_t panel) {
    int slot = slots.take();
    float *own = panelAt(slot);
    int64_t column = panel * kWinogradPanel;
    Block tiles = blockFrom(0, 0, patches);
    for (int64_t row = 0; row < blocks.rows; row += kWinogradRows) {
      transformRows(row, column, own);
      multiply(tiles, column, row, own, sumsOf(slot));
      tiles.patches += blocks.partFloats(kWinogradRows);
    }
    makePixels(tiles, column, sumsOf(slot));
    slots.give(slot);
  }

  /// Some tiles, and their patches.
  struct Block {
    int64_t first, count;
    const float *patches;
  };

  /// A block of the part that begins with `tile`.
  Block blockFrom(int64_t tile, int64_t block, const float *at) const {
    int64_t begin = block * blocks.blockTiles;
    return {tile + begin, std::min(blocks.blockTiles, tilesFrom(tile) - begin),
            at};
  }
  float *panelAt(int64_t panel) const {
    return panels + panel * kFrequencies * blocks.panelStep();
  }
  float *sumsOf(int slot) const {
    return results + slot * blocks.blockTiles * kTileFloats;
  }

  void computeTiles(const Block &tiles, int64_t column, const float *panel,
                    float *sums) const {
    multiply(tiles, column, 0, panel, sums);
    makePixels(tiles, column, sums);
  }

  /// Adds up, or begins with, the products of the channels that lie together
  /// from `row` on, which the patches and the panel begin with.
  void multiply(const Block &tiles, int64_t column, int64_t row,
                const float *panel, float *sums) const {
    int64_t together = blocks.readChannels();
    WinogradProduct product = {};
    product.rows = tiles.count;
    product.columns = std::min(kWinogradPanel, blocks.columns - column);
    product.depth = std::min(together, blocks.rows - row);
    product.blockDepth = product.depth;
    product.aRow = blocks.tileRow(together);
    product.aColumn = 1;
    product.bRow = functions.slice;
    product.bSlice = sliceStep();
    product.cRow = kTileFloats;
    product.accumulate = row > 0;
    for (int64_t f = 0; f < kFrequencies; ++f) {
      product.a = tiles.patches + f * blocks.tileStep(together);
      product.b = panel + f * blocks.panelStep();
      product.c = sums + f * kWinogradPanel;
      functions.multiply(product);
    }
  }

  void makePixels(const Block &tiles, int64_t column, const float *sums) const {
    for (int64_t i = 0; i < tiles.count; ++i)
      functions.makePixels(sums + i * kTileFloats, kWinogradPanel, made,
                           tiles.first + i, column,
                           std::min(kWinogradPanel, blocks.columns - column));
  }

  static constexpr int64_t kTileFloats = WinogradBlocks::kTileFloats;
  bool backward;
  WinogradImages read, made;
  WinogradFilter filter;
  ScratchSlots slots;
  // The parts of the workspace of the current call.
  float *patches = nullptr, *panels = nullptr, *results = nullptr;
};

/// A filter's gradient: at every frequency the product of the result's
/// gradient's pixels, transposed, and the source's patches, added up over
/// blocks of tiles. Rows are filters and columns channels: so taps are written
/// in order.
class WinogradFilterGradient final : public WinogradKernel {
public:
  WinogradFilterGradient(const ConvolutionSpec &spec, InstructionSet set,
                         int threads)
      : WinogradKernel(spec, set, threads), source(describeImages(spec.source)),
        destination(describeImages(spec.destination)),
        filter({nullptr, blocks.rows, blocks.columns, 9 * blocks.columns, 9,
                false}) {
    setTiles(destination, spec.padsLow.data(), source);
    setTiles(destination, spec.padsLow.data(), destination);
  }

  bool execute(void *const *pointers, void *workspace,
               std::string *) noexcept override {
    source.pixels = static_cast<float *>(pointers[0]);
    destination.pixels = static_cast<float *>(pointers[2]);
    filter.taps = static_cast<float *>(pointers[1]);
    pixels = static_cast<float *>(workspace);
    patches = pixels + blocks.readFloats(threads);
    sums = patches + blocks.otherFloats(threads);
    bool whole = blocks.partTiles >= blocks.tiles;
    for (int64_t column = 0; column < blocks.columns;
         column += blocks.partColumns) {
      for (int64_t tile = 0; tile < blocks.tiles; tile += blocks.partTiles) {
        if (!whole || column == 0)
          transformTiles(functions.transformPixels, destination, tile,
                         blocks.rows, blocks.rows, pixels);
        addPart(tile, column);
      }
      makeFilter(column);
    }
    return true;
  }

private:
  void addPart(int64_t tile, int64_t column) const {
    int64_t count = columnsFrom(column);
    WinogradImages part = source;
    part.pixels += column;
    transformTiles(functions.transformPatch, part, tile, count, count, patches);
    int64_t panelCount = ceilDivide(count, kWinogradPanel);
    parallelForEach(kFrequencies * panelCount, threads, [&](int64_t task) {
      addPanel(tile, count, task / panelCount,
               task % panelCount * kWinogradPanel);
    });
  }

  /// A frequency's products with some of the `count` columns.
  void addPanel(int64_t tile, int64_t count, int64_t f, int64_t column) const {
    WinogradProduct product = {};
    product.rows = blocks.rows;
    product.columns = std::min(kWinogradPanel, count - column);
    product.aRow = 1;
    product.aColumn = blocks.tileRow(blocks.rows);
    product.bRow = blocks.tileRow(count);
    product.bSlice = functions.slice;
    product.c = sums + f * blocks.sumStep() + column;
    product.cRow = apartInCache(blocks.partColumns);
    product.depth = tilesFrom(tile);
    product.blockDepth = blocks.blockTiles;
    product.aBlock = kFrequencies * blocks.tileStep(blocks.rows);
    product.bBlock = kFrequencies * blocks.tileStep(count);
    product.a = pixels + f * blocks.tileStep(blocks.rows);
    product.b = patches + f * blocks.tileStep(count) + column;
    product.accumulate = tile > 0;
    functions.multiply(product);
  }

  void makeFilter(int64_t column) const {
    int64_t count = columnsFrom(column);
    int64_t panelCount = ceilDivide(count, kWinogradPanel);
    parallelForEach(panelCount * blocks.rows, threads, [&](int64_t task) {
      int64_t at = task / blocks.rows * kWinogradPanel,
              row = task % blocks.rows;
      functions.makeFilter(sums + row * apartInCache(blocks.partColumns) + at,
                           blocks.sumStep(), filter, row, column + at,
                           std::min(kWinogradPanel, count - at));
    });
  }

  WinogradImages source, destination;
  WinogradFilter filter;
  // The parts of the workspace of the current call.
  float *pixels = nullptr, *patches = nullptr, *sums = nullptr;
};

template <typename Kernel>
std::unique_ptr<Primitive> createKernel(const ConvolutionSpec &spec,
                                        uint64_t workspaceBytes) {
  // Fewer threads may need less.
  for (int threads = teamSize(); threads > 0; --threads) {
    auto kernel =
        std::make_unique<Kernel>(spec, widestInstructionSet(), threads);
    if (kernel->workspaceBytes() <= workspaceBytes)
      return kernel;
  }
  return nullptr;
}

} // namespace

std::unique_ptr<Primitive> createWinograd(const ConvolutionSpec &spec,
                                          uint64_t workspaceBytes) {
  if (!mayWinograd(spec) || widestInstructionSet() == InstructionSet::Baseline)
    return nullptr;
  return spec.kind == ConvolutionKind::BackwardFilter
             ? createKernel<WinogradFilterGradient>(spec, workspaceBytes)
             : createKernel<Winograd>(spec, workspaceBytes);
}

} // namespace zc::kernels
