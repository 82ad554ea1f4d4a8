// Private to this folder.
#ifndef ZC_KERNELS_CPU_TILEDGROUPEDMATMUL_H
#define ZC_KERNELS_CPU_TILEDGROUPEDMATMUL_H

#include "kernels/Cpu/Primitive.h"

namespace zc::kernels {

/// The grouped product by our own tiles, or null where they don't take it, this
/// processor has none, or `workspaceBytes` are too few.
std::unique_ptr<Primitive>
createTiledGroupedMatmul(const GroupedMatmulSpec &spec,
                         uint64_t workspaceBytes);

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_TILEDGROUPEDMATMUL_H
