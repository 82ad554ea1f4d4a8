//===- LibraryPatterns.h - what library kernels compute ---------*- C++ -*-===//
#ifndef ZC_PASSES_FUSION_CPU_LIBRARYPATTERNS_H
#define ZC_PASSES_FUSION_CPU_LIBRARYPATTERNS_H

#include "mlir/IR/Operation.h"

namespace zc::cpu {

/// The library pattern for `op` on CPUs, or an empty string: "onednn.matmul"
/// for train.matmul and
/// train.matmul_add, "onednn.convolution" for the convolutions, "zc.attention"
/// for attention and its gradient, of float32, and all but attention of
/// bfloat16.
llvm::StringRef libraryFor(mlir::Operation *op);

/// Whether a library computes the op in float32 alone, and it has operands of
/// 16 bits. Without `multipliesBFloat16` no library takes those of bfloat16.
bool needsFloat32(mlir::Operation *op, bool multipliesBFloat16);

} // namespace zc::cpu

#endif // ZC_PASSES_FUSION_CPU_LIBRARYPATTERNS_H
