//===- AccumulateInPlace.cpp - --zc-accumulate-in-place -------------------===//
//
// A product that adds to a sum does not divide the dims that it sums over. So
// while tensors are divided among ranks, product and addition are two ops, with
// a mark; here both are of one rank.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Float8Ops.h"
#include "dialects/Train/OpMarks.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Fusion/Passes.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_ACCUMULATEINPLACEPASS
#include "passes/Fusion/Passes.h.inc"

namespace {

struct AccumulateInPlace
    : public impl::AccumulateInPlacePassBase<AccumulateInPlace> {
  using AccumulateInPlacePassBase::AccumulateInPlacePassBase;

  void runOnOperation() override {
    SmallVector<AddOp> sums;
    getOperation().walk([&](AddOp op) {
      if (!op.getInPlace())
        return;
      op.setInPlace(false);
      // A state's old value is an argument.
      if (!onHost || !isa<BlockArgument>(op.getLhs()))
        sums.push_back(op);
    });
    for (AddOp op : sums) {
      widenScaled(op.getRhs());
      OpBuilder builder(op);
      Value term = op.getRhs();
      Value sum = addInPlace(builder, op.getLoc(), op.getLhs(), op.getRhs());
      copyMarks(op, sum.getDefiningOp());
      op.replaceAllUsesWith(sum);
      op.erase();
      eraseUnused(term.getDefiningOp());
      numInPlace += isa<MatmulAddOp>(sum.getDefiningOp());
    }
  }

private:
  /// A product of 8-bit floats whose 16 bits go into the sum alone gives what
  /// it has added up in float32.
  static void widenScaled(Value term) {
    auto wide = term.getDefiningOp<ConvertOp>();
    auto product = wide ? wide.getInput().getDefiningOp<ScaledMatmulOp>()
                        : ScaledMatmulOp();
    if (!product || !product->hasOneUse() || !wide->hasOneUse() ||
        !getElementTypeOrSelf(wide.getType()).isF32())
      return;
    product.getResult().setType(cast<RankedTensorType>(wide.getType()));
    wide.replaceAllUsesWith(product.getResult());
    wide.erase();
  }

  /// A conversion that nothing reads any more, and the product that it is of.
  static void eraseUnused(Operation *op) {
    while (op && isOpTriviallyDead(op)) {
      Operation *before = op->getNumOperands() == 1
                              ? op->getOperand(0).getDefiningOp()
                              : nullptr;
      op->erase();
      op = before;
    }
  }
};

} // namespace
} // namespace zc
