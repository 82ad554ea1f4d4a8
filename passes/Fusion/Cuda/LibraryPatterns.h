//===- LibraryPatterns.h - what GPU libraries compute -----------*- C++ -*-===//
#ifndef ZC_PASSES_FUSION_CUDA_LIBRARYPATTERNS_H
#define ZC_PASSES_FUSION_CUDA_LIBRARYPATTERNS_H

#include "mlir/IR/Operation.h"

namespace zc::cuda {

/// The library pattern for `op` on NVIDIA GPUs, or an empty string:
/// "cublaslt.matmul" for train.matmul and train.matmul_add, "cudnn.convolution"
/// for the convolutions of images of two or three spatial dims, "cudnn.pooling"
/// for the largest of their windows; operands of one type, float32, bfloat16 or
/// float16. "cudnn.attention" for attention in 16 bits without a mask, and its
/// gradient. None for what is left out.
llvm::StringRef libraryFor(mlir::Operation *op);

/// Whether cuDNN normalises such images, of train.batch_norm_training and its
/// gradient: channels last, in 16 bits, a multiple of 8 channels.
bool isDnnNorm(mlir::Operation *op);

/// Whether the environment of the compiler says ZC_CUDA_<what>=0, a way around
/// a library that does not compute something on the GPU at hand: generated
/// kernels do. `what` is MATMUL, CONVOLUTION, POOLING, NORMS, ATTENTION or
/// EPILOGUES.
bool isLeftOut(llvm::StringRef what);

/// Whether the environment of the compiler says ZC_CUDA_<what>=1, which takes
/// what a library does in another way than zc. `what` is RELU_BITS.
bool isAskedFor(llvm::StringRef what);

/// Whether generated code would add up more in a team's memory than there is:
/// products, convolutions and attention's gradient in 16 bits that no library
/// computes.
bool needsFloat32(mlir::Operation *op);

} // namespace zc::cuda

#endif // ZC_PASSES_FUSION_CUDA_LIBRARYPATTERNS_H
