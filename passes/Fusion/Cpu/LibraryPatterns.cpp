//===- LibraryPatterns.cpp - what library kernels compute
//-------------------------===//
#include "passes/Fusion/Cpu/LibraryPatterns.h"

#include "dialects/Train/TrainDialect.h"

using namespace mlir;
using namespace zc::train;

namespace zc::cpu {

StringRef libraryFor(Operation *op) {
  bool allFloat32 = llvm::all_of(op->getOperandTypes(), [](Type type) {
    return cast<ShapedType>(type).getElementType().isF32();
  });
  if (!allFloat32)
    return "";
  if (isa<MatmulOp, MatmulAddOp>(op))
    return "onednn.matmul";
  if (isa<ConvOp, ConvInputGradOp, ConvFilterGradOp>(op))
    return "onednn.convolution";
  if (isa<AttentionOp, AttentionGradOp>(op))
    return "zc.attention";
  return "";
}

} // namespace zc::cpu
