//===- LibraryPatterns.cpp - what GPU libraries compute -------------------===//
#include "passes/Target/Cuda/LibraryPatterns.h"

#include "dialects/Train/Float8Ops.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace zc::train;

namespace zc::cuda {

static constexpr llvm::StringLiteral kMatmul = "cublaslt.matmul",
                                     kFloat8 = "cublaslt.fp8",
                                     kConvolution = "cudnn.convolution",
                                     kPooling = "cudnn.pooling",
                                     kAttention = "cudnn.attention";
/// kAttention for fewer keys than are worth it, and than versions up to 9.15
/// have gradients for.
static constexpr llvm::StringLiteral kShortAttention = "cudnn.short-attention";

ArrayRef<LibraryName> getLibraryNames() {
  static constexpr LibraryName kNames[] = {
      {kMatmul},      {kFloat8},          {kEpilogue},
      {kSums, false}, {kReluBits, false}, {kConvolution},
      {kPooling},     {kAttention},       {kShortAttention, false}};
  return kNames;
}

/// Factors must have one type; the addend of a product may be float32 all the
/// same.
static bool hasMatrixTypes(Operation *op) {
  auto elementOf = [](Type type) {
    return cast<ShapedType>(type).getElementType();
  };
  Type first = elementOf(op->getOperands().back().getType());
  TypeRange factors = op->getOperandTypes();
  if (isa<MatmulAddOp>(op)) {
    Type sum = elementOf(factors.front());
    factors = factors.drop_front();
    if (sum != first && !sum.isF32())
      return false;
  }
  return (first.isF32() || first.isBF16() || first.isF16()) &&
         llvm::all_of(factors,
                      [&](Type type) { return elementOf(type) == first; });
}

static bool isDnnConvolution(Operation *op) {
  return isa<ConvOp, ConvInputGradOp, ConvFilterGradOp>(op) &&
         cast<ShapedType>(op->getOperand(0).getType()).getRank() >= 4;
}

/// Whether cuDNN takes a pooling: every window overlaps the image; it counts
/// elements in 32 bits.
template <typename Op> static bool isDnnPooling(Op op, RankedTensorType image) {
  auto areLess = [&](ArrayRef<int64_t> pads) {
    return llvm::all_of(llvm::zip(pads, op.getWindow()), [](auto dim) {
      auto [pad, window] = dim;
      return pad < window;
    });
  };
  return image.getRank() >= 4 &&
         image.getNumElements() <= std::numeric_limits<int32_t>::max() &&
         areLess(op.getPadsLow()) && areLess(op.getPadsHigh());
}

/// No windows with gaps. The gradient of maxima stays with generated kernels:
/// the library's reads image and maxima, which would be kept for it; ours reads
/// a byte a maximum (--zc-keep-pool-places). And which of equal elements gets
/// the gradient, the first one here and in PyTorch, the library leaves open. So
/// the forward that leaves places is generated as well.
static bool isDnnPooling(Operation *op) {
  if (auto largest = dyn_cast<MaxPoolOp>(op))
    return isDnnPooling(largest, largest.getInput().getType()) &&
           llvm::all_of(largest.getDilations(),
                        [](int64_t dilation) { return dilation == 1; });
  if (auto average = dyn_cast<AveragePoolOp>(op))
    return isDnnPooling(average, average.getInput().getType());
  auto grad = dyn_cast<AveragePoolGradOp>(op);
  return grad && isDnnPooling(grad, grad.getResult().getType());
}

/// Whether cuDNN's attention takes an op on all GPUs from sm_80 on: 16 bits,
/// heads of a multiple of 8 elements and at most 128 (the backward has 256 on
/// sm_90 alone), more than one query, all three gradients. Heads count as they
/// are behind --zc-pad-heads: keys and values as wide as the wider of them. Few
/// keys are little work for generated kernels too, and versions up to 9.15 have
/// no gradients for less than a tile of them: kShortAttention allows any
/// number.
template <typename Op>
static bool isDnnAttention(Op op, const Libraries &libraries) {
  constexpr int64_t kWidthStep = 8, kMostWidth = 128, kFewestKeys = 128;
  if (op.getKey().getType().getDimSize(1) < kFewestKeys &&
      !libraries.has(kShortAttention))
    return false;
  Type element = op.getQuery().getType().getElementType();
  int64_t width = std::max(op.getQuery().getType().getDimSize(3),
                           op.getValue().getType().getDimSize(3));
  bool gradients = !std::is_same_v<Op, AttentionGradOp> ||
                   llvm::none_of(op->getResults(), [](Value gradient) {
                     return gradient.use_empty();
                   });
  return (element.isBF16() || element.isF16()) && !op.getMask() &&
         width % kWidthStep == 0 && width <= kMostWidth &&
         op.getQuery().getType().getDimSize(1) > 1 && gradients;
}

static bool isDnnAttention(Operation *op, const Libraries &libraries) {
  if (auto attention = dyn_cast<AttentionOp>(op))
    return isDnnAttention<AttentionOp>(attention, libraries);
  auto gradient = dyn_cast<AttentionGradOp>(op);
  return gradient && isDnnAttention<AttentionGradOp>(gradient, libraries);
}

/// Matrices of which all sizes are multiples of 16, also where a rank has a
/// part of them.
static bool isLtFloat8(ScaledMatmulOp op) {
  auto sound = [](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return type.getRank() == 2 &&
           llvm::all_of(type.getShape(),
                        [](int64_t dim) { return dim % 16 == 0; });
  };
  Type result = getElementTypeOrSelf(op.getType());
  return sound(op.getLhs()) && sound(op.getRhs()) &&
         (result.isBF16() || result.isF32());
}

/// The call for `op` if nothing is left out.
static StringRef findLibrary(Operation *op, const Libraries &libraries) {
  if (isDnnAttention(op, libraries))
    return kAttention;
  if (auto scaled = dyn_cast<ScaledMatmulOp>(op))
    return isLtFloat8(scaled) ? StringRef(kFloat8) : StringRef();
  if (op->getNumOperands() == 0 || !hasMatrixTypes(op))
    return "";
  if (isa<MatmulOp, MatmulAddOp>(op))
    return kMatmul;
  if (isDnnConvolution(op))
    return kConvolution;
  return isDnnPooling(op) ? StringRef(kPooling) : StringRef();
}

StringRef libraryFor(Operation *op, const Libraries &libraries) {
  StringRef name = findLibrary(op, libraries);
  return libraries.has(name) ? name : "";
}

bool needsFloat32(Operation *op, const Libraries &libraries) {
  bool addsUp =
      isa<AttentionGradOp, MatmulOp, ConvOp, ConvInputGradOp, ConvFilterGradOp>(
          op);
  if (!addsUp)
    return false;
  Type element = cast<ShapedType>(op->getOperand(0).getType()).getElementType();
  return (element.isBF16() || element.isF16()) &&
         libraryFor(op, libraries).empty();
}

} // namespace zc::cuda
