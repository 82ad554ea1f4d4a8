// Private to this folder.
#ifndef ZC_KERNELS_CPU_TILEDMATMUL_H
#define ZC_KERNELS_CPU_TILEDMATMUL_H

#include "kernels/Calls/Division/MatmulBlocks.h"
#include "kernels/Cpu/MatmulTiles.h"
#include "kernels/Cpu/Primitive.h"

#include <optional>

namespace zc::kernels {

/// This processor's kind, for the rules that choose tiles.
ProcessorKind processorKind();

struct MatmulTiles {
  MatmulTileFunctions functions;
  const char *name;
};

/// This processor's tiles for a product that tiles can take, if it has any.
std::optional<MatmulTiles> matmulTilesOf(const MatmulSpec &spec);

/// The product by our own tiles, or null where they don't take it, this
/// processor has none, or `workspaceBytes` are too few.
std::unique_ptr<Primitive> createTiledMatmul(const MatmulSpec &spec,
                                             uint64_t workspaceBytes);

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_TILEDMATMUL_H
