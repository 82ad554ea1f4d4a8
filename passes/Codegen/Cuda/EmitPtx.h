//===- EmitPtx.h - GPU kernels to PTX and cubins ----------------*- C++ -*-===//
#ifndef ZC_PASSES_CODEGEN_CUDA_EMITPTX_H
#define ZC_PASSES_CODEGEN_CUDA_EMITPTX_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <string>
#include <vector>

namespace zc {

/// The oldest GPUs that zc's PTX runs on; newer ones take it too.
inline constexpr llvm::StringLiteral kPtxArch = "sm_80";

/// Compiles the gpu.module @zc.kernels (NVVM dialect) to PTX for `kPtxArch`.
/// With `llvmText` also returns the optimised LLVM IR. Reports failures on the
/// module, among them an operation that needs CUDA's libdevice where there is
/// none.
mlir::FailureOr<std::string> emitPtx(mlir::gpu::GPUModuleOp kernels,
                                     std::string *llvmText = nullptr);

/// The path of CUDA's assembler, ptxas: in $CUDA_HOME/bin, $CUDA_PATH/bin, on
/// the PATH, in /usr/local/cuda/bin. Empty where there is none.
std::string findPtxas();

/// Assembles `ptx` for `arch` ("sm_90"); reports failures on `kernels`.
mlir::FailureOr<std::string> assemblePtx(mlir::gpu::GPUModuleOp kernels,
                                         llvm::StringRef ptxas,
                                         llvm::StringRef ptx,
                                         llvm::StringRef arch);

} // namespace zc

#endif // ZC_PASSES_CODEGEN_CUDA_EMITPTX_H
