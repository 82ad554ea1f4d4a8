//===- LibraryPatterns.h - what GPU libraries compute -----------*- C++ -*-===//
#ifndef ZC_PASSES_TARGET_CUDA_LIBRARYPATTERNS_H
#define ZC_PASSES_TARGET_CUDA_LIBRARYPATTERNS_H

#include "mlir/IR/Operation.h"
#include "passes/Target/Libraries.h"

namespace zc::cuda {

/// The calls, as `--libraries` names them.
llvm::ArrayRef<LibraryName> getLibraryNames();

// Passes ask for these library calls by name.
/// A product with an epilogue in cuBLASLt.
inline constexpr llvm::StringLiteral kEpilogue = "cublaslt.epilogue";
/// Sums over tokens with a product, in that epilogue. On an H200 the library
/// then takes half as long again for the product, four times as long with a
/// GELU's gradient: more than a kernel that reads the product once more.
inline constexpr llvm::StringLiteral kSums = "cublaslt.sums";
/// A ReLU's gradient by the bits that cuBLASLt keeps, set at exactly 0 too.
inline constexpr llvm::StringLiteral kReluBits = "cublaslt.relu-bits";

/// The library call for `op` on NVIDIA GPUs, or an empty string: there are some
/// for train.matmul and train.matmul_add, for the convolutions of images of two
/// or three spatial dims, for their average pools and max pools; operands of
/// one type, float32, bfloat16 or float16; and for attention in 16 bits without
/// a mask, and its gradient. None for what `libraries` leaves out.
llvm::StringRef libraryFor(mlir::Operation *op, const Libraries &libraries);

/// Whether generated code would add up more in a team's memory than there is:
/// products, convolutions and attention's gradient in 16 bits that no library
/// computes.
bool needsFloat32(mlir::Operation *op, const Libraries &libraries);

} // namespace zc::cuda

#endif // ZC_PASSES_TARGET_CUDA_LIBRARYPATTERNS_H
