// How a grouped product is divided for our own tiles. Links nothing: the
// compiler plans the scratch memory with it.
#ifndef ZC_KERNELS_CALLS_DIVISION_GROUPEDBLOCKS_H
#define ZC_KERNELS_CALLS_DIVISION_GROUPEDBLOCKS_H

#include "kernels/Calls/Division/MatmulBlocks.h"
#include "kernels/Calls/GroupedMatmul.h"

namespace zc::kernels {

/// A task computes some rows and columns of one expert's product. Its scratch
/// memory is that of MatmulBlocks, then copies of rows that do not lie
/// together, then sums in float32, then results in c's type.
struct GroupedBlocks {
  MatmulBlocks panels; // rows, columns and depth of a task, the most
  uint64_t gatherBytes = 0, sumBytes = 0, resultBytes = 0;

  uint64_t taskBytes() const {
    return panels.rowBytes() + panels.columnBytes() + gatherBytes + sumBytes +
           resultBytes;
  }
};

/// Elements between rows of sums and of results.
constexpr int64_t kGroupedRowMultiple = 16;

/// The product of the rows of one expert, all of them, as it lies.
MatmulSpec groupedProduct(const GroupedMatmulSpec &spec);

/// Whether our tiles are quicker than the library: a rule of measurements.
bool tilesGroupedMatmul(const GroupedMatmulSpec &spec, ProcessorKind kind);

/// For a product that our tiles can take.
GroupedBlocks divideGroupedMatmul(const GroupedMatmulSpec &spec,
                                  ProcessorKind kind);

/// Bytes that are enough for every number of threads up to `threads`.
uint64_t tiledGroupedWorkspace(const GroupedMatmulSpec &spec, int threads);

} // namespace zc::kernels

#endif // ZC_KERNELS_CALLS_DIVISION_GROUPEDBLOCKS_H
