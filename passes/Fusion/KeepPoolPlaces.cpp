//===- KeepPoolPlaces.cpp - max pools without their images ----------------===//
//
// On tensors of a rank, in the layout that they keep, and before regions are
// formed, so that the ReLU's slope becomes part of the loop nests around it.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Ops/PoolSupport.h"
#include "passes/Analysis/ForwardOps.h"
#include "passes/Fusion/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_KEEPPOOLPLACESPASS
#include "passes/Fusion/Passes.h.inc"

namespace {

/// Whether `op` asks which elements of `image` are above 0.
bool isSignTest(Operation *op, Value image) {
  auto compare = dyn_cast<CompareOp>(op);
  return compare && compare.getPredicate() == Predicate::Gt &&
         compare.getLhs() == image && isZero(compare.getRhs());
}

struct KeepPoolPlaces : public impl::KeepPoolPlacesPassBase<KeepPoolPlaces> {
  using KeepPoolPlacesPassBase::KeepPoolPlacesPassBase;

  void runOnOperation() override {
    for (auto program : getOperation().getOps<func::FuncOp>()) {
      if (program.isDeclaration())
        continue;
      forward = findForwardOps(program);
      for (auto pool : llvm::make_early_inc_range(program.getOps<MaxPoolOp>()))
        if (SmallVector<MaxPoolGradOp> grads = gradientsOf(pool);
            !grads.empty() && (always || isKeptForPools(pool.getInput())))
          keepPlaces(pool, grads);
    }
  }

private:
  static SmallVector<MaxPoolGradOp> gradientsOf(MaxPoolOp pool) {
    SmallVector<MaxPoolGradOp> grads;
    for (Operation *user : pool.getInput().getUsers())
      if (auto grad = dyn_cast<MaxPoolGradOp>(user);
          grad && grad.getInput() == pool.getInput() &&
          grad.getOutput() == pool.getResult() &&
          grad->getAttrDictionary() == pool->getAttrDictionary())
        grads.push_back(grad);
    return grads;
  }

  /// Whether the backward reads the image for pools' gradients and its sign
  /// alone.
  bool isKeptForPools(Value image) const {
    return llvm::all_of(image.getUses(), [&](OpOperand &use) {
      Operation *user = use.getOwner();
      return forward.contains(user) || isSignTest(user, image) ||
             (isa<MaxPoolGradOp>(user) && use.getOperandNumber() == 0);
    });
  }

  void keepPlaces(MaxPoolOp pool, ArrayRef<MaxPoolGradOp> grads) {
    OpBuilder builder(pool);
    Type type = pool.getResult().getType();
    Type places = placesType(windowOf(pool, pool.getWindow()),
                             cast<RankedTensorType>(type));
    auto kept =
        MaxPoolPlacesOp::create(builder, pool.getLoc(), TypeRange{type, places},
                                pool.getInput(), pool->getAttrs());
    forward.insert(kept);
    pool.getResult().replaceAllUsesWith(kept.getResult());
    for (MaxPoolGradOp grad : grads)
      goByPlaces(kept, grad);
    forward.erase(pool);
    pool.erase();
    ++numKept;
  }

  static void goByPlaces(MaxPoolPlacesOp pool, MaxPoolGradOp grad) {
    OpBuilder builder(grad);
    SelectOp slope = findSlope(pool.getInput(), grad);
    Value reaches = grad.getGrad();
    if (slope) {
      Location loc = slope.getLoc();
      Value zero = splat(builder, loc, pool.getResult().getType(), 0);
      Value positive =
          compare(builder, loc, Predicate::Gt, pool.getResult(), zero);
      reaches = SelectOp::create(builder, loc, positive, reaches, zero);
    }
    Value result = MaxPoolPlacesGradOp::create(
        builder, grad.getLoc(), TypeRange{grad.getResult().getType()},
        ValueRange{pool.getPlaces(), reaches}, grad->getAttrs());
    Operation *replaced = slope ? slope.getOperation() : grad.getOperation();
    replaced->getResult(0).replaceAllUsesWith(result);
    if (slope)
      slope.erase();
    grad.erase();
  }

  /// The slope of the ReLU that has computed `image`, where all that arrives
  /// there comes through the pool; null if not.
  static SelectOp findSlope(Value image, MaxPoolGradOp grad) {
    if (!grad.getResult().hasOneUse())
      return nullptr;
    auto select = dyn_cast<SelectOp>(*grad->user_begin());
    if (!select || select.getOnTrue() != grad.getResult() ||
        !isZero(select.getOnFalse()))
      return nullptr;
    Operation *test = select.getCondition().getDefiningOp();
    return test && isSignTest(test, image) ? select : nullptr;
  }

  DenseSet<Operation *> forward;
};

} // namespace
} // namespace zc
