//===- Passes.h - kernels to machine code -----------------------*- C++ -*-===//
#ifndef ZC_PASSES_CODEGEN_PASSES_H
#define ZC_PASSES_CODEGEN_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace zc {

#define GEN_PASS_DECL
#include "passes/Codegen/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Codegen/Passes.h.inc"

/// Name of the nested module that the kernels' functions live in; of many, the
/// first, and what the names of the others begin with.
inline constexpr llvm::StringLiteral kKernelModule = "zc.kernels";

/// sched.kernel to functions of the LLVM dialect in the nested module
/// @zc.kernels.
void buildCodegenPipeline(mlir::OpPassManager &manager);

/// Lowers @zc.kernels, as `--zc-lower-kernels` leaves it, to the LLVM dialect;
/// runs on the nested module. Entry points come after it.
void buildKernelLoweringPipeline(mlir::OpPassManager &manager);

/// The same for GPUs: sched.kernel to LLVM and NVVM ops in the gpu.module
/// @zc.kernels.
void buildCudaCodegenPipeline(mlir::OpPassManager &manager);

/// Registers the pipelines as `--zc-codegen-pipeline`,
/// `--zc-kernel-lowering-pipeline` (with entry points) and
/// `--zc-cuda-codegen-pipeline`.
void registerCodegenPipelines();

} // namespace zc

#endif // ZC_PASSES_CODEGEN_PASSES_H
