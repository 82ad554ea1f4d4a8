// Machine code for the processor that feeds a device.
#ifndef ZC_COMPILER_DRIVER_HOSTCODE_H
#define ZC_COMPILER_DRIVER_HOSTCODE_H

#include "compiler/Driver/Options.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Support/LLVM.h"

namespace zc {

/// The kernels of all roles that the host computes, lowered for a CPU, in a
/// module of their own; null where there are none. Their grids and functions'
/// names are also set in `module`.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
lowerHostKernels(mlir::ModuleOp module);

} // namespace zc

#endif
