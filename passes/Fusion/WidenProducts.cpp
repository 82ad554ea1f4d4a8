//===- WidenProducts.cpp - --zc-widen-products ----------------------------===//
//
// Runs behind the last pass that merges equal ops: one conversion of a weight
// for forward and backward together would be kept between them.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/Notes.h"
#include "dialects/Onnx/Location.h"
#include "dialects/Train/Float8Ops.h"
#include "dialects/Train/OpMarks.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Fusion/Passes.h"
#include "passes/Target/Target.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_WIDENPRODUCTSPASS
#include "passes/Fusion/Passes.h.inc"

namespace {

/// A factor [rows, K] of a product, as libraries for 8 bits read it.
Value transposeIf(OpBuilder &builder, bool transposes, Value value) {
  return transposes ? transpose(builder, value.getLoc(), value, {1, 0}) : value;
}

/// Scales of blocks of such a factor, which was transposed if `turned`: [K /
/// 128, rows], or, of squares, rows of a multiple of 4 numbers.
Value packScale(OpBuilder &builder, Value scale, int64_t rows, bool turned) {
  constexpr int64_t kScaleStep = 4; // cuBLAS: 16 bytes
  auto shape = cast<RankedTensorType>(scale.getType()).getShape();
  if (shape[turned ? 1 : 0] == rows)
    return transposeIf(builder, !turned, scale);
  scale = transposeIf(builder, turned, scale);
  auto type = cast<RankedTensorType>(scale.getType());
  const int64_t length = llvm::alignTo(type.getDimSize(1), kScaleStep);
  if (length == type.getDimSize(1))
    return scale;
  return PadOp::create(builder, scale.getLoc(),
                       withShape(type, {type.getDimSize(0), length}), scale,
                       ArrayRef<int64_t>{0, 0}, ArrayRef<int64_t>{0, 0});
}

/// The numbers that 8-bit floats stand for, in float32: with scales that are
/// powers of two these are numbers of bfloat16.
Value scaleBack(OpBuilder &builder, Value value, Value scale) {
  Location loc = value.getLoc();
  auto whole = cast<RankedTensorType>(value.getType()).getShape();
  auto parts = cast<RankedTensorType>(scale.getType()).getShape();
  SmallVector<int64_t> shape, kept;
  for (auto [size, count] : llvm::zip_equal(whole, parts)) {
    kept.push_back(shape.size());
    shape.push_back(count);
    if (size != count)
      shape.push_back(size / count);
  }
  Value wide = widen(builder, loc, reshape(builder, loc, value, shape));
  wide = MulOp::create(builder, loc, wide,
                       broadcast(builder, loc, scale, shape, kept));
  return reshape(builder, loc, wide, whole);
}

/// "fc1 (8 x 40 by 40 x 16)".
std::string describe(ScaledMatmulOp op) {
  auto origin = onnx::getOrigin(op.getLoc());
  auto printed = [](Value value) {
    return llvm::join(
        llvm::map_range(cast<RankedTensorType>(value.getType()).getShape(),
                        [](int64_t size) { return std::to_string(size); }),
        " x ");
  };
  return (origin ? origin->node.str() : std::string("a product")) + " (" +
         printed(op.getLhs()) + " by " + printed(op.getRhs()) + ")";
}

/// Whether a library of the target multiplies 8-bit floats of sizes that suit
/// it: a product of 16 x 16 tells.
bool multipliesFloat8(MLIRContext *context, const Target &target) {
  constexpr int64_t kSize = 16;
  OpBuilder builder(context);
  Location loc = builder.getUnknownLoc();
  Block factors;
  Value matrix = factors.addArgument(
      RankedTensorType::get({kSize, kSize}, Float8E4M3FNType::get(context)),
      loc);
  Value scale =
      factors.addArgument(RankedTensorType::get({}, builder.getF32Type()), loc);
  auto product = ScaledMatmulOp::create(
      builder, loc,
      RankedTensorType::get({kSize, kSize}, builder.getBF16Type()), matrix,
      matrix, scale, scale);
  const bool hasLibrary = !target.libraryFor(product).empty();
  product.erase();
  return hasLibrary;
}

struct WidenProducts : public impl::WidenProductsPassBase<WidenProducts> {
  void runOnOperation() override {
    const Target &target = getTarget(getOperation());
    SmallVector<ScaledMatmulOp> scaled;
    getOperation().walk([&](ScaledMatmulOp op) {
      if (target.libraryFor(op).empty())
        scaled.push_back(op);
      else
        layOut(op);
    });
    if (!scaled.empty() && multipliesFloat8(&getContext(), target))
      noteWidened(scaled);
    for (ScaledMatmulOp op : scaled)
      widenScaled(op);
    SmallVector<Operation *> products;
    getOperation().walk([&](Operation *op) {
      if (target.needsFloat32(op))
        products.push_back(op);
    });
    for (Operation *op : products)
      widenProduct(op);
    numWidened += products.size();
  }

private:
  /// A rank's parts may be of other sizes than the tensors.
  void noteWidened(ArrayRef<ScaledMatmulOp> products) {
    SmallVector<std::string> names;
    for (ScaledMatmulOp op : products)
      if (std::string name = describe(op); !llvm::is_contained(names, name))
        names.push_back(std::move(name));
    dist::addNote(getOperation(),
                  "a rank multiplies factors of 8-bit floats as bfloat16 where "
                  "its parts are no multiples of 16: " +
                      dist::listNames(names));
  }

  /// Libraries for 8 bits read factors along K alone: [M, K] and [N, K].
  static void layOut(ScaledMatmulOp op) {
    OpBuilder builder(op);
    const bool turnsLhs = op.getTransposeLhs(),
               turnsRhs = !op.getTransposeRhs();
    Value lhs = transposeIf(builder, turnsLhs, op.getLhs());
    Value rhs = transposeIf(builder, turnsRhs, op.getRhs());
    if (op.hasBlocks()) {
      auto rowsOf = [](Value factor) {
        return cast<RankedTensorType>(factor.getType()).getDimSize(0);
      };
      op.getLhsScaleMutable().assign(
          packScale(builder, op.getLhsScale(), rowsOf(lhs), turnsLhs));
      op.getRhsScaleMutable().assign(
          packScale(builder, op.getRhsScale(), rowsOf(rhs), turnsRhs));
      op.setPackedScales(true);
    }
    op.getLhsMutable().assign(lhs);
    op.getRhsMutable().assign(rhs);
    op.setTransposeLhs(false);
    op.setTransposeRhs(true);
  }

  /// Every float of 8 bits is one of bfloat16, and a product of two of them is
  /// exact in float32: the same numbers, but for the order of the sum.
  static void widenScaled(ScaledMatmulOp op) {
    OpBuilder builder(op);
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(op.getType());
    Value product = multiplyWide(builder, op);
    if (!op.hasBlocks()) {
      Value scale =
          MulOp::create(builder, loc, op.getLhsScale(), op.getRhsScale());
      product =
          MulOp::create(builder, loc, product,
                        broadcast(builder, loc, scale, type.getShape(), {}));
    }
    Value result = narrow(builder, loc, product, type);
    copyMarks(op, result.getDefiningOp());
    op.getResult().replaceAllUsesWith(result);
    op.erase();
  }

  /// The product in float32; where scales are of blocks, of what factors stand
  /// for.
  static Value multiplyWide(OpBuilder &builder, ScaledMatmulOp op) {
    Location loc = op.getLoc();
    auto factor = [&](Value value, Value scale) {
      if (op.hasBlocks())
        value = scaleBack(builder, value, scale);
      return convert(builder, loc, value, builder.getBF16Type());
    };
    Value lhs = factor(op.getLhs(), op.getLhsScale());
    Value rhs = factor(op.getRhs(), op.getRhsScale());
    return MatmulOp::create(
        builder, loc, withElementType(op.getType(), builder.getF32Type()), lhs,
        rhs, op.getTransposeLhs(), op.getTransposeRhs());
  }

  static void widenProduct(Operation *op) {
    OpBuilder builder(op);
    for (OpOperand &operand : op->getOpOperands())
      operand.set(widenStored(builder, op->getLoc(), operand.get()));
    builder.setInsertionPointAfter(op);
    for (OpResult result : op->getResults()) {
      Type type = result.getType();
      if (!isNarrow(getElementTypeOrSelf(type)))
        continue;
      result.setType(withComputeType(type));
      Value narrowed = narrow(builder, op->getLoc(), result, type);
      result.replaceAllUsesExcept(narrowed, narrowed.getDefiningOp());
      moveResultMarks(result, cast<OpResult>(narrowed));
    }
  }
};

} // namespace
} // namespace zc
