// Machine code for GPUs.
#ifndef ZC_COMPILER_DRIVER_CUDACODE_H
#define ZC_COMPILER_DRIVER_CUDACODE_H

#include "compiler/Driver/Options.h"
#include "compiler/Export/Artifact.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"

namespace zc {

/// PTX, and where CUDA's assembler is at hand a cubin for each of sm_80, sm_90,
/// sm_100 and the one that `--target` names. Without kernels, nothing.
mlir::LogicalResult emitCudaCode(mlir::ModuleOp module,
                                 const CompileOptions &options,
                                 std::vector<CodeInput> &code);

/// The kernels' PTX, or with `--emit llvm` their optimised LLVM IR.
mlir::FailureOr<std::string> printCudaCode(mlir::ModuleOp module,
                                           const CompileOptions &options);

} // namespace zc

#endif
