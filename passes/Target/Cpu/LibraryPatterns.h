//===- LibraryPatterns.h - what library kernels compute ---------*- C++ -*-===//
#ifndef ZC_PASSES_TARGET_CPU_LIBRARYPATTERNS_H
#define ZC_PASSES_TARGET_CPU_LIBRARYPATTERNS_H

#include "mlir/IR/Operation.h"
#include "passes/Target/Libraries.h"

namespace zc::cpu {

/// The calls, as `--libraries` names them.
llvm::ArrayRef<LibraryName> getLibraryNames();

/// The library call for `op` on CPUs, or an empty string: there are some for
/// train.matmul and train.matmul_add, for the convolutions, for attention and
/// its gradient, for train.grouped_matmul and its gradient.
llvm::StringRef libraryFor(mlir::Operation *op);

/// The name for `--libraries` of Winograd's way to compute a convolution.
inline constexpr llvm::StringLiteral kWinograd = "zc.winograd";

/// Whether it is a convolution or a gradient of one over two dims, of 3x3 taps
/// in steps of one, of float32.
bool maySuitWinograd(mlir::Operation *op);

/// The calls that take bfloat16: none, those that our own tiles compute
/// (attention without a mask, and products of two matrices that do not add to
/// sums of bfloat16), or all of them.
enum class TakesBFloat16 { None, InTiles, All };

/// Whether a library computes the op in float32 alone, and it has operands of
/// 16 bits.
bool needsFloat32(mlir::Operation *op, TakesBFloat16 takes);

} // namespace zc::cpu

#endif // ZC_PASSES_TARGET_CPU_LIBRARYPATTERNS_H
