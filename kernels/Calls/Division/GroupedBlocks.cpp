#include "kernels/Calls/Division/GroupedBlocks.h"

#include "kernels/Calls/Division/GroupedTiles.h"
#include "kernels/Rounding.h"

#include <algorithm>

namespace zc::kernels {
namespace {

// Rows of a task whose results wait beside c until they are spread over its
// rows, as AMX's do, and of others; their bytes and those of sums, which with
// the panels take less than a second-level cache of the processors whose rule
// this is (2 MiB).
constexpr int64_t kSpreadRows = 256, kRows = 512;
constexpr int64_t kWaitingBytes = 1 << 20;

} // namespace

MatmulSpec groupedProduct(const GroupedMatmulSpec &spec) {
  return groupedTileProduct(spec, spec.rows, /*accumulate=*/false);
}

/// Measured on an Intel Xeon with AVX-512 and AMX, two threads; the README of
/// tools/bench has the rates of layers. If there are few rows, packing an
/// expert's matrix takes longer than multiplying by it.
bool tilesGroupedMatmul(const GroupedMatmulSpec &spec, ProcessorKind kind) {
  constexpr int64_t kFew = 128, kFewRows = 32;
  return kind == ProcessorKind::IntelWide &&
         canTileMatmul(groupedProduct(spec)) &&
         std::min(spec.inner, spec.columns) >= kFew &&
         spec.rows >= kFewRows * spec.experts;
}

GroupedBlocks divideGroupedMatmul(const GroupedMatmulSpec &spec,
                                  ProcessorKind kind) {
  MatmulSpec product = groupedProduct(spec);
  GroupedBlocks blocks;
  MatmulBlocks &panels = blocks.panels;
  panels = divideMatmul(product, kind, /*threads=*/1);
  panels.depth = roundUp(panels.depth, 32);
  bool narrow = spec.resultType != ElementType::F32;
  bool waits = narrow && product.a.dims[1] > panels.depth; // for more depth
  panels.keepsSums = false; // they are counted here
  int64_t rows = product.c.dims[0], columns = product.c.dims[1];
  bool spreads = !spec.gradient && panels.inTiles;
  panels.rows = std::min(rows, spreads ? kSpreadRows : kRows);
  int64_t waiting = (spreads ? elementBytes(spec.resultType) : 0) +
                    (waits ? int64_t(sizeof(float)) : 0);
  panels.columns = columns;
  if (waiting > 0)
    panels.columns =
        std::min(columns, std::max(kMatmulGroup,
                                   kWaitingBytes / (panels.rows * waiting) /
                                       kMatmulGroup * kMatmulGroup));
  int64_t lines = std::max(panels.rows, spec.gradient ? kMatmulGroup : 0);
  blocks.gatherBytes =
      roundUp(lines * panels.depth * elementBytes(spec.type), 64);
  int64_t kept = panels.rows * roundUp(panels.columns, kGroupedRowMultiple);
  if (waits)
    blocks.sumBytes = roundUp(kept * int64_t(sizeof(float)), 64);
  if (spreads)
    blocks.resultBytes = roundUp(kept * elementBytes(spec.resultType), 64);
  return blocks;
}

uint64_t tiledGroupedWorkspace(const GroupedMatmulSpec &spec, int threads) {
  // With AVX2 blocks of float32 are no larger, and bfloat16 is not taken.
  return std::max(1, threads) *
         divideGroupedMatmul(spec, ProcessorKind::IntelWide).taskBytes();
}

} // namespace zc::kernels
