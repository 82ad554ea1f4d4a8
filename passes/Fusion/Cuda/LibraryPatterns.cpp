//===- LibraryPatterns.cpp - what GPU libraries compute -------------------===//
#include "passes/Fusion/Cuda/LibraryPatterns.h"

#include "dialects/Train/TrainDialect.h"

using namespace mlir;
using namespace zc::train;

namespace zc::cuda {

static bool hasMatrixTypes(Operation *op) {
  auto elementOf = [](Type type) {
    return cast<ShapedType>(type).getElementType();
  };
  Type first = elementOf(op->getOperandTypes().front());
  return (first.isF32() || first.isBF16() || first.isF16()) &&
         llvm::all_of(op->getOperandTypes(),
                      [&](Type type) { return elementOf(type) == first; });
}

StringRef libraryFor(Operation *op) {
  if (op->getNumOperands() == 0 || !hasMatrixTypes(op))
    return "";
  if (isa<MatmulOp, MatmulAddOp>(op))
    return "cublaslt.matmul";
  auto rank = cast<ShapedType>(op->getOperand(0).getType()).getRank();
  if (isa<ConvOp, ConvInputGradOp, ConvFilterGradOp>(op) && rank >= 4)
    return "cudnn.convolution";
  return "";
}

} // namespace zc::cuda
