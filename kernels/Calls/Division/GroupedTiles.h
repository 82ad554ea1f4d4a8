// How the rows of one expert become products of a few sizes, all of which are
// made ready before the run: the library has no fast product whose number of
// rows is known at the call alone.
#ifndef ZC_KERNELS_CALLS_DIVISION_GROUPEDTILES_H
#define ZC_KERNELS_CALLS_DIVISION_GROUPEDTILES_H

#include "kernels/Calls/GroupedMatmul.h"
#include "kernels/Calls/Matmul.h"

namespace zc::kernels {

/// The sizes in rows, ascending; the last one is the least that holds all rows,
/// or the largest there is.
std::vector<int64_t> groupedTileSizes(int64_t rows);

/// For each number of rows from 0 to the largest size: the size to begin with,
/// by its place among `sizes`. Rows that are not there are zeros.
std::vector<int> chooseGroupedTiles(const std::vector<int64_t> &sizes);

/// The product of one tile, whose rows lie one after the other.
MatmulSpec groupedTileProduct(const GroupedMatmulSpec &spec, int64_t rows,
                              bool accumulate);

/// Bytes, a multiple of 64, of the copies of a tile's rows: those of a, and of
/// c, or b for a gradient.
uint64_t groupedInnerBytes(const GroupedMatmulSpec &spec);
uint64_t groupedColumnBytes(const GroupedMatmulSpec &spec);

} // namespace zc::kernels

#endif // ZC_KERNELS_CALLS_DIVISION_GROUPEDTILES_H
