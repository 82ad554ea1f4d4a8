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
/// none. `toolkit`: the CUDA toolkit's folder; empty: /usr/local/cuda.
mlir::FailureOr<std::string> emitPtx(mlir::gpu::GPUModuleOp kernels,
                                     llvm::StringRef toolkit,
                                     std::string *llvmText = nullptr);

/// The path of CUDA's assembler, ptxas, in the toolkit's folder; without a
/// folder in /usr/local/cuda or on the PATH. Empty where there is none.
std::string findPtxas(llvm::StringRef toolkit);

/// Assembles `ptx` for `arch` ("sm_90"); reports failures on `kernels`.
mlir::FailureOr<std::string> assemblePtx(mlir::gpu::GPUModuleOp kernels,
                                         llvm::StringRef ptxas,
                                         llvm::StringRef ptx,
                                         llvm::StringRef arch);

} // namespace zc

#endif // ZC_PASSES_CODEGEN_CUDA_EMITPTX_H
