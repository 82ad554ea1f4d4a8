// One task's part of a filter's gradient. Rows and panels of some hundred
// pixels are packed one after the other; a register tile multiplies them.
//
// Compiled per instruction set into the namespace ZC_ISA: no inline function
// from elsewhere may be used but those of constants.
#include "kernels/Cpu/FilterGradient.h"
#include "kernels/Cpu/TileProduct.h"

namespace zc::kernels::ZC_ISA {
namespace {

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/// Where in an image some pixels in a row lie, or -1 in the padding.
struct Pixels {
  const float *image = nullptr;
  int64_t count = 0;
  int64_t offsets[kFilterDepth];
};

void findGradientPixels(const FilterGradientImages &images, int64_t begin,
                        int64_t count, Pixels &pixels) {
  pixels.image = images.destination;
  pixels.count = count;
  for (int64_t i = 0; i < count; ++i)
    pixels.offsets[i] = (begin + i) * images.filters;
}

void findSourcePixels(const FilterGradientImages &images, int64_t tap,
                      int64_t begin, int64_t count, Pixels &pixels) {
  pixels.image = images.source;
  pixels.count = count;
  int64_t shift[2] = {
      tap / images.kernelSize[1] * images.dilation[0] - images.pad[0],
      tap % images.kernelSize[1] * images.dilation[1] - images.pad[1]};
  int64_t x = begin % images.destinationSize[1];
  int64_t row = begin / images.destinationSize[1];
  int64_t y = row % images.destinationSize[0];
  int64_t image = row / images.destinationSize[0];
  for (int64_t i = 0; i < count; ++i) {
    int64_t sourceY = y * images.stride[0] + shift[0];
    int64_t sourceX = x * images.stride[1] + shift[1];
    bool inside = sourceY >= 0 && sourceY < images.sourceSize[0] &&
                  sourceX >= 0 && sourceX < images.sourceSize[1];
    pixels.offsets[i] =
        inside
            ? ((image * images.sourceSize[0] + sourceY) * images.sourceSize[1] +
               sourceX) *
                  images.channels
            : -1;
    if (++x < images.destinationSize[1])
      continue;
    x = 0;
    if (++y < images.destinationSize[0])
      continue;
    y = 0;
    ++image;
  }
}

/// [pixels][kFilterPanel], of which `columns` are filled, a multiple of 16.
void packPanel(const Pixels &pixels, int64_t first, int64_t columns,
               float *to) {
  for (int64_t i = 0; i < pixels.count; ++i, to += kFilterPanel) {
    if (pixels.offsets[i] < 0) {
      for (int64_t j = 0; j < columns; j += kLanes)
        store(to + j, Vector{});
      continue;
    }
    const float *from = pixels.image + pixels.offsets[i] + first;
    for (int64_t j = 0; j < columns; j += kLanes)
      store(to + j, load(from + j));
  }
}

/// [tiles][pixels][kFilterTile], each tile filterTileFloats behind the one
/// before.
void packTiles(const Pixels &pixels, int64_t first, int64_t rows, float *to) {
  int64_t tile = filterTileFloats(pixels.count);
  int64_t whole = rows / kFilterTile * kFilterTile;
  for (int64_t i = 0; i < pixels.count; ++i, to += kFilterTile) {
    float *at = to;
    if (pixels.offsets[i] < 0) {
      for (int64_t r = 0; r < rows; r += kFilterTile, at += tile)
        for (int64_t j = 0; j < kFilterTile; ++j)
          at[j] = 0;
      continue;
    }
    const float *from = pixels.image + pixels.offsets[i] + first;
    for (int64_t r = 0; r < whole; r += kFilterTile, at += tile)
      __builtin_memcpy(at, from + r, sizeof(float) * kFilterTile);
    for (int64_t r = whole; r < rows; ++r)
      at[r - whole] = from[r];
  }
}

/// Columns that are packed next, at `shift` from pixels known already. They lie
/// scattered, so that they come from memory in time only when asked for.
struct Ahead {
  const Pixels *pixels;
  int64_t shift, columns;
};

/// Fetches one of several equal shares into the second-level cache. Pixels
/// beyond the image are asked for in vain.
void fetch(const Ahead &ahead, int64_t share, int64_t shares) {
  int64_t count = ahead.pixels->count;
  for (int64_t i = count * share / shares; i < count * (share + 1) / shares;
       ++i) {
    const float *from =
        ahead.pixels->image + ahead.pixels->offsets[i] + ahead.shift;
    for (int64_t j = 0; j < ahead.columns; j += 16)
      __builtin_prefetch(from + j, 0, 2);
  }
}

/// How far behind the first pixels those of the next block lie.
int64_t blockAdvance(const Pixels &pixels) {
  int64_t last = pixels.offsets[pixels.count - 1] - pixels.offsets[0];
  return last + last / (pixels.count > 1 ? pixels.count - 1 : 1);
}

/// Some packed rows of one block of pixels, and what is packed after them.
struct PackedRows {
  int64_t first, count;
  Pixels pixels;
};

/// result [rows, columns] = or += the packed rows times the packed panel.
void multiplyPanel(int64_t rows, int64_t columns, int64_t depth,
                   const float *tiles, const float *panel, float *result,
                   int64_t resultRow, bool accumulate, const Ahead *ahead,
                   int aheadCount) {
  int64_t shares = (rows + kFilterTile - 1) / kFilterTile;
  for (int64_t row = 0; row < rows; row += kFilterTile) {
    for (int i = 0; i < aheadCount; ++i)
      fetch(ahead[i], row / kFilterTile, shares);
    multiply(least(kFilterTile, rows - row), columns, depth,
             Factor{tiles + row / kFilterTile * filterTileFloats(depth), 1,
                    kFilterTile},
             panel, kFilterPanel, result + row * resultRow, resultRow,
             accumulate);
  }
}

/// The panels of one task for some packed rows.
void multiplyRows(const FilterGradientTask &task, const PackedRows &rows,
                  int64_t begin, int64_t depth) {
  const FilterGradientShape &shape = task.shape;
  const float *tiles = task.scratch;
  float *panel = task.scratch + (rows.count + kFilterTile - 1) / kFilterTile *
                                    filterTileFloats(depth);
  int64_t perTap = shape.columns / shape.taps, found = -1;
  Pixels pixels;
  for (int64_t i = task.panelBegin; i < task.panelEnd; ++i) {
    int64_t tap = i / shape.panelsPerTap;
    int64_t column = i % shape.panelsPerTap * kFilterPanel;
    int64_t columns = least(kFilterPanel, perTap - column);
    if (tap != found) {
      if (shape.swapped)
        findGradientPixels(task.images, begin, depth, pixels);
      else
        findSourcePixels(task.images, tap, begin, depth, pixels);
    }
    found = tap;
    packPanel(pixels, column, columns, panel);
    Ahead ahead[] = {{&pixels, column + kFilterPanel, columns},
                     {&rows.pixels, rows.first, rows.count}};
    bool last = i + 1 == task.panelEnd;
    if (last) {
      ahead[0].shift = blockAdvance(pixels);
      ahead[1].shift += blockAdvance(rows.pixels);
    }
    multiplyPanel(rows.count, columns, depth, tiles, panel,
                  task.result + rows.first * task.resultRow + tap * perTap +
                      column,
                  task.resultRow, begin > task.depthBegin, ahead, last ? 2 : 1);
  }
}

void multiplyTask(const FilterGradientTask &task) {
  PackedRows rows;
  for (int64_t begin = task.depthBegin; begin < task.depthEnd;
       begin += kFilterDepth) {
    int64_t depth = least(kFilterDepth, task.depthEnd - begin);
    for (rows.first = task.rowBegin; rows.first < task.rowEnd;
         rows.first += kFilterRows) {
      rows.count = least(kFilterRows, task.rowEnd - rows.first);
      if (task.shape.swapped)
        findSourcePixels(task.images, 0, begin, depth, rows.pixels);
      else
        findGradientPixels(task.images, begin, depth, rows.pixels);
      packTiles(rows.pixels, rows.first, rows.count, task.scratch);
      multiplyRows(task, rows, begin, depth);
    }
  }
}

/// Sixteen filters at a time, which lie side by side in the parts.
void sumSwapped(const FilterGradientSum &sum) {
  const FilterGradientShape &shape = sum.shape;
  for (int64_t filter = sum.begin; filter < sum.end; filter += 16)
    for (int64_t channel = 0; channel < shape.rows; ++channel) {
      float block[16] = {};
      const float *part = sum.parts + channel * shape.columns + filter;
      for (int64_t i = 0; i < sum.count;
           ++i, part += shape.rows * shape.columns)
        for (int j = 0; j < 16; ++j)
          block[j] += part[j];
      for (int j = 0; j < 16; ++j)
        sum.gradient[(filter + j) * shape.rows + channel] = block[j];
    }
}

void sumParts(const FilterGradientSum &sum) {
  const FilterGradientShape &shape = sum.shape;
  if (shape.swapped)
    return sumSwapped(sum);
  int64_t channels = shape.columns / shape.taps;
  for (int64_t filter = sum.begin; filter < sum.end; ++filter)
    for (int64_t channel = 0; channel < channels; ++channel)
      for (int64_t tap = 0; tap < shape.taps; ++tap) {
        const float *part =
            sum.parts + filter * shape.columns + tap * channels + channel;
        float total = 0;
        for (int64_t i = 0; i < sum.count; ++i)
          total += part[i * shape.rows * shape.columns];
        sum.gradient[(filter * channels + channel) * shape.taps + tap] = total;
      }
}

} // namespace

FilterGradientFunctions filterGradientFunctions() {
  return {multiplyTask, sumParts};
}

} // namespace zc::kernels::ZC_ISA
