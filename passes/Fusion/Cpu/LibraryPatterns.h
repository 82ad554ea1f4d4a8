//===- LibraryPatterns.h - what library kernels compute ---------*- C++ -*-===//
#ifndef ZC_PASSES_FUSION_CPU_LIBRARYPATTERNS_H
#define ZC_PASSES_FUSION_CPU_LIBRARYPATTERNS_H

#include "mlir/IR/Operation.h"

namespace zc::cpu {

/// The library pattern for `op` on CPUs, or an empty string: "onednn.matmul"
/// for train.matmul and
/// train.matmul_add, "onednn.convolution" for the convolutions, "zc.attention"
/// for attention and its gradient, all of float32.
llvm::StringRef libraryFor(mlir::Operation *op);

} // namespace zc::cpu

#endif // ZC_PASSES_FUSION_CPU_LIBRARYPATTERNS_H
