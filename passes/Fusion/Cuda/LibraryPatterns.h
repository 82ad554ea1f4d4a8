//===- LibraryPatterns.h - what GPU libraries compute -----------*- C++ -*-===//
#ifndef ZC_PASSES_FUSION_CUDA_LIBRARYPATTERNS_H
#define ZC_PASSES_FUSION_CUDA_LIBRARYPATTERNS_H

#include "mlir/IR/Operation.h"

namespace zc::cuda {

/// The library pattern for `op` on NVIDIA GPUs, or an empty string:
/// "cublaslt.matmul" for train.matmul and train.matmul_add, "cudnn.convolution"
/// for the convolutions of images of two or three spatial dims; operands of one
/// type, float32, bfloat16 or float16.
llvm::StringRef libraryFor(mlir::Operation *op);

} // namespace zc::cuda

#endif // ZC_PASSES_FUSION_CUDA_LIBRARYPATTERNS_H
