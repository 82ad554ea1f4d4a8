//===- WidenProducts.cpp - --zc-widen-products ----------------------------===//
//
// Runs behind the last pass that merges equal ops: one conversion of a weight
// for forward and backward together would be kept between them.
//
//===----------------------------------------------------------------------===//
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
