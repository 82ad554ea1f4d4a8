//===- LibraryPatterns.cpp - what library kernels compute -----------------===//
//
// Bias, activation and residual stay in generated kernels and do not become the
// library's post-operations, of which only sums are used (matmul_add). Measured
// on 2 cores: all that biases and residuals outside other kernels cost is 0.1%
// of a step of an MLP, 0.2% of GPT-2's and 0.5% of a GPT 256 wide, since a
// kernel adds both at once while they are in the caches. Activations take as
// long inside the library (0.7 ms against 0.6 ms for GPT-2's GELU), and their
// gradients need what they are computed from. ResNet-50's convolutions feed
// batch normalisations, whose statistics no post-operation knows.
//
//===----------------------------------------------------------------------===//
#include "passes/Fusion/Cpu/LibraryPatterns.h"

#include "dialects/Train/TrainDialect.h"

using namespace mlir;
using namespace zc::train;

namespace zc::cpu {

/// Whether all operands from `first` on have elements of a type that passes.
static bool haveElements(Operation *op, unsigned first,
                         llvm::function_ref<bool(Type)> passes) {
  return llvm::all_of(llvm::drop_begin(op->getOperandTypes(), first),
                      [&](Type type) {
                        return passes(cast<ShapedType>(type).getElementType());
                      });
}

StringRef libraryFor(Operation *op) {
  auto isFloat32 = [](Type type) { return type.isF32(); };
  auto isBFloat16 = [](Type type) { return type.isBF16(); };
  // Sums may be of float32 where the factors are not.
  unsigned factors = isa<MatmulAddOp>(op) ? 1 : 0;
  bool products =
      haveElements(op, 0, isFloat32) || haveElements(op, factors, isBFloat16);
  if (products && isa<MatmulOp, MatmulAddOp>(op))
    return "onednn.matmul";
  if (products && isa<ConvOp, ConvInputGradOp, ConvFilterGradOp>(op))
    return "onednn.convolution";
  if (haveElements(op, 0, isFloat32) && isa<AttentionOp, AttentionGradOp>(op))
    return "zc.attention";
  return "";
}

} // namespace zc::cpu
