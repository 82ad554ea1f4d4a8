//===- LibraryPatterns.cpp - what library kernels compute
//-------------------------===//
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
