//===- WidenProducts.cpp - --zc-widen-products ----------------------------===//
//
// Runs behind the last pass that merges equal ops: one conversion of a weight
// for forward and backward together would be kept between them.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Float8Ops.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Fusion/Passes.h"
#include "passes/Target/Target.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_WIDENPRODUCTSPASS
#include "passes/Fusion/Passes.h.inc"

namespace {

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
  /// Libraries for 8 bits read factors along K alone: [M, K] and [N, K].
  static void layOut(ScaledMatmulOp op) {
    OpBuilder builder(op);
    if (op.getTransposeLhs())
      op.getLhsMutable().assign(
          transpose(builder, op.getLoc(), op.getLhs(), {1, 0}));
    if (!op.getTransposeRhs())
      op.getRhsMutable().assign(
          transpose(builder, op.getLoc(), op.getRhs(), {1, 0}));
    op.setTransposeLhs(false);
    op.setTransposeRhs(true);
  }

  /// Every float of 8 bits is one of bfloat16, and a product of two of them is
  /// exact in float32: the same numbers, but for the order of the sum.
  static void widenScaled(ScaledMatmulOp op) {
    OpBuilder builder(op);
    Location loc = op.getLoc();
    Value lhs = convert(builder, loc, op.getLhs(), builder.getBF16Type());
    Value rhs = convert(builder, loc, op.getRhs(), builder.getBF16Type());
    auto type = cast<RankedTensorType>(op.getType());
    auto wide = withElementType(type, builder.getF32Type());
    Value product =
        MatmulOp::create(builder, loc, wide, lhs, rhs, op.getTransposeLhs(),
                         op.getTransposeRhs());
    Value scale =
        MulOp::create(builder, loc, op.getLhsScale(), op.getRhsScale());
    product =
        MulOp::create(builder, loc, product,
                      broadcast(builder, loc, scale, type.getShape(), {}));
    Value result = narrow(builder, loc, product, type);
    for (NamedAttribute attribute : op->getDiscardableAttrs())
      result.getDefiningOp()->setAttr(attribute.getName(),
                                      attribute.getValue());
    op.getResult().replaceAllUsesWith(result);
    op.erase();
  }

  static void widenProduct(Operation *op) {
    OpBuilder builder(op);
    for (OpOperand &operand : op->getOpOperands())
      operand.set(widen(builder, op->getLoc(), operand.get()));
    builder.setInsertionPointAfter(op);
    for (Value result : op->getResults()) {
      Type type = result.getType();
      if (!isNarrow(getElementTypeOrSelf(type)))
        continue;
      result.setType(withComputeType(type));
      Value narrowed = narrow(builder, op->getLoc(), result, type);
      result.replaceAllUsesExcept(narrowed, narrowed.getDefiningOp());
      if (Attribute gradient = op->removeAttr(kGradientsAttr))
        narrowed.getDefiningOp()->setAttr(kGradientsAttr, gradient);
    }
  }
};

} // namespace
} // namespace zc
