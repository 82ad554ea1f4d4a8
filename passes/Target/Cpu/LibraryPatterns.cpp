//===- LibraryPatterns.cpp - what library kernels compute -----------------===//
//
// Bias, activation and residual stay in generated kernels and do not become the
// library's post-operations, of which only sums are used (matmul_add). Measured
// on 2 cores: all that biases and residuals outside other kernels cost is 0.1%
// of a step of an MLP, 0.2% of GPT-2's and 0.5% of a GPT 256 wide, since a
// kernel adds both at once while they are in the caches. Activations take as
// long inside the library (0.7 ms against 0.6 ms for GPT-2's GELU), and their
// gradients need what they are computed from. ResNet-50's convolutions feed
// batch normalisations, whose statistics no post-operation knows. Gradients of
// filters are not added up by the library, as those of matmuls are: oneDNN's
// have no post-operations, and where micro-batches accumulate, all kernels that
// only add, residuals' among them, are 0.6% of ResNet-50's step (2 x 4 images).
//
//===----------------------------------------------------------------------===//
#include "passes/Target/Cpu/LibraryPatterns.h"

#include "dialects/Train/ExpertOps.h"

using namespace mlir;
using namespace zc::train;

namespace zc::cpu {

static constexpr llvm::StringLiteral kMatmul = "onednn.matmul",
                                     kConvolution = "onednn.convolution",
                                     kAttention = "zc.attention",
                                     kGroupedMatmul = "zc.grouped-matmul";

ArrayRef<LibraryName> getLibraryNames() {
  static constexpr LibraryName kNames[] = {
      {kMatmul}, {kConvolution}, {kAttention}, {kGroupedMatmul}, {kWinograd}};
  return kNames;
}

/// The library that computes the op if the elements suit it.
static StringRef libraryOf(Operation *op) {
  if (isa<MatmulOp, MatmulAddOp>(op))
    return kMatmul;
  if (isa<ConvOp, ConvInputGradOp, ConvFilterGradOp>(op))
    return kConvolution;
  if (isa<AttentionOp, AttentionGradOp>(op))
    return kAttention;
  if (isa<GroupedMatmulOp, GroupedMatmulGradOp>(op))
    return kGroupedMatmul;
  return "";
}

static bool haveElements(TypeRange types, llvm::function_ref<bool(Type)> are) {
  return llvm::all_of(types, [&](Type type) {
    return are(cast<ShapedType>(type).getElementType());
  });
}

/// All of one type but for the logs of sums, which are of float32, and the
/// queries' last keys.
static bool suitsAttention(TypeRange types) {
  Type element = getElementTypeOrSelf(types.front());
  if (!element.isF32() && !element.isBF16())
    return false;
  return llvm::all_of(types, [&](Type type) {
    Type each = getElementTypeOrSelf(type);
    const bool isLogOfSums = cast<ShapedType>(type).getRank() == 3;
    return each.isInteger(64) || (isLogOfSums ? each.isF32() : each == element);
  });
}

StringRef libraryFor(Operation *op) {
  auto isFloat32 = [](Type type) { return type.isF32(); };
  auto isBFloat16 = [](Type type) { return type.isBF16(); };
  TypeRange factors = op->getOperandTypes();
  // Sums may be of float32 where the factors are not.
  if (isa<MatmulAddOp>(op))
    factors = factors.drop_front();
  if (isa<GroupedMatmulOp, GroupedMatmulGradOp>(op))
    factors = factors.take_front(2); // without groups and ids
  if (isa<AttentionOp, AttentionGradOp>(op))
    return suitsAttention(factors) ? kAttention : "";
  bool suits =
      haveElements(factors, isFloat32) || haveElements(factors, isBFloat16);
  return suits ? libraryOf(op) : "";
}

/// Whether all of a list attribute's integers are 1.
static bool areOnes(Operation *op, StringRef name) {
  auto list = op->getAttrOfType<DenseI64ArrayAttr>(name);
  return list && llvm::all_equal(list.asArrayRef()) && !list.empty() &&
         list[0] == 1;
}

bool maySuitWinograd(Operation *op) {
  if (libraryFor(op) != kConvolution ||
      !getElementTypeOrSelf(op->getOperand(0)).isF32())
    return false;
  Value filter =
      isa<ConvFilterGradOp>(op) ? op->getResult(0) : op->getOperand(1);
  ArrayRef<int64_t> dims = cast<ShapedType>(filter.getType()).getShape();
  return dims.size() == 4 && dims[2] == 3 && dims[3] == 3 &&
         areOnes(op, "strides") && areOnes(op, "dilations") &&
         op->getAttrOfType<IntegerAttr>("groups").getInt() == 1;
}

/// Whether our own tiles compute the op (canTileMatmul in kernels): sums of
/// bfloat16 are none that they add to. A mask of bfloat16 would be widened by
/// each thread for each head, where a float32 copy is made once.
static bool suitsTiles(Operation *op) {
  if (auto attention = dyn_cast<AttentionOp>(op))
    return !attention.getMask();
  if (auto gradient = dyn_cast<AttentionGradOp>(op))
    return !gradient.getMask();
  if (auto add = dyn_cast<MatmulAddOp>(op))
    if (!getElementTypeOrSelf(add.getType()).isF32())
      return false;
  return isa<MatmulOp, MatmulAddOp>(op) &&
         llvm::all_of(op->getOperandTypes(), [](Type type) {
           return cast<ShapedType>(type).getRank() == 2;
         });
}

bool needsFloat32(Operation *op, TakesBFloat16 takes) {
  StringRef library = libraryOf(op);
  bool takesThese = takes == TakesBFloat16::All ||
                    (takes == TakesBFloat16::InTiles && suitsTiles(op));
  if (library.empty() || (!libraryFor(op).empty() && takesThese))
    return false;
  auto suits = [](Type type) {
    return type.isF32() || type.isF16() || type.isBF16() || type.isIntOrIndex();
  };
  auto isWide = [](Type type) { return type.isF32() || type.isIntOrIndex(); };
  return haveElements(op->getOperandTypes(), suits) &&
         !haveElements(op->getOperandTypes(), isWide);
}

} // namespace zc::cpu
