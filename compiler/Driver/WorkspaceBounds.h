// Bounds on the workspaces of the targets' libraries, for the passes.
#ifndef ZC_COMPILER_DRIVER_WORKSPACEBOUNDS_H
#define ZC_COMPILER_DRIVER_WORKSPACEBOUNDS_H

#include "mlir/IR/Operation.h"

#include <cstdint>

namespace zc {

/// The bound of passes/Fusion's WorkspaceBound for an op that oneDNN computes.
uint64_t getWorkspaceBound(mlir::Operation *op, int64_t threads);

/// The same for an op that cuBLASLt or cuDNN computes.
uint64_t getCudaWorkspaceBound(mlir::Operation *op, int64_t threads);

} // namespace zc

#endif
