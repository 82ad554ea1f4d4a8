// Decides which filters' gradients are products by tiles, and divides these.
// Links nothing: the compiler plans the scratch memory with it.
#ifndef ZC_KERNELS_CALLS_DIVISION_FILTERGRADIENTSPLIT_H
#define ZC_KERNELS_CALLS_DIVISION_FILTERGRADIENTSPLIT_H

#include "kernels/Calls/Convolution.h"

namespace zc::kernels {

/// Rows of a register tile, columns of a packed panel, and how many pixels and
/// rows are packed at a time: a panel and the rows together stay in a
/// second-level cache.
constexpr int64_t kFilterTile = 6, kFilterPanel = 64, kFilterDepth = 256,
                  kFilterRows = 384;

/// [rows, depth] x [depth, columns]. Rows are filters and columns taps times
/// channels or, where `swapped`, rows are channels and columns filters: rows
/// cost more to pack, so they are the fewer.
struct FilterGradientShape {
  int64_t rows, columns, depth, taps;
  int64_t panelsPerTap; // a panel is of one tap
  bool swapped;
};

/// How the product is divided: each task takes a part of the depth, the rows
/// and the panels.
struct FilterGradientSplit {
  int64_t depthParts, rowParts, panelParts;
  int64_t tasks() const { return depthParts * rowParts * panelParts; }
};

/// False for all that is no filter's gradient of float32 on dense channels-last
/// images with channels in sixteens.
bool isTiledFilterGradient(const ConvolutionSpec &spec);
/// Whether the product is a quicker way than the library's vectors.
bool filterGradientByTiles(const ConvolutionSpec &spec);

FilterGradientShape shapeFilterGradient(const ConvolutionSpec &spec);

/// The quickest division into at most `threads` tasks.
FilterGradientSplit splitFilterGradient(const FilterGradientShape &shape,
                                        int64_t threads);

/// Whether the tasks write the gradient itself, not parts that are summed and
/// sorted afterwards.
bool filterGradientIsDirect(const FilterGradientShape &shape,
                            const FilterGradientSplit &split);

/// Floats from one packed tile of `depth` pixels to the next: not all of them a
/// power of two apart, or they fall into few sets of a cache. Static: a shared
/// copy could be that of an instruction set that is not there.
static inline int64_t filterTileFloats(int64_t depth) {
  return depth * kFilterTile + 16;
}

/// Floats of scratch memory: of a task, a multiple of 16, and of everything.
int64_t filterGradientTaskFloats(const FilterGradientShape &shape);
int64_t filterGradientFloats(const FilterGradientShape &shape,
                             const FilterGradientSplit &split);

} // namespace zc::kernels

#endif // ZC_KERNELS_CALLS_DIVISION_FILTERGRADIENTSPLIT_H
