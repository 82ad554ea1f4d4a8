//===- PadHeads.cpp - --zc-pad-heads --------------------------------------===//
//
// Libraries know heads of one width. Where values are as wide as keys are not
// (DeepSeek's latent attention), zeros make up for it: they change no score and
// no other element of a result.
//
// Runs behind the last pass that merges equal ops, as --zc-widen-products:
// padded values of the forward would be kept for the backward.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Fusion/Passes.h"
#include "passes/Target/Target.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_PADHEADSPASS
#include "passes/Fusion/Passes.h.inc"

namespace {

int64_t widthOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape().back();
}

struct PadHeads : public impl::PadHeadsPassBase<PadHeads> {
  void runOnOperation() override {
    const Target &target = getTarget(getOperation());
    SmallVector<Operation *> attentions;
    getOperation().walk([&](Operation *op) {
      if (isa<AttentionOp, AttentionGradOp>(op) &&
          widthOf(op->getOperand(0)) != widthOf(op->getOperand(2)) &&
          !target.libraryFor(op).empty())
        attentions.push_back(op);
    });
    for (Operation *op : attentions)
      pad(op);
    numPadded += attentions.size();
  }

private:
  static void pad(Operation *op) {
    const int64_t width =
        std::max(widthOf(op->getOperand(0)), widthOf(op->getOperand(2)));
    Value mask = getMask(op);
    OpBuilder builder(op);
    for (OpOperand &operand : op->getOpOperands())
      if (isOfHeads(operand.get()) && operand.get() != mask)
        operand.set(widened(builder, operand.get(), width));
    builder.setInsertionPointAfter(op);
    for (Value result : op->getResults())
      if (isOfHeads(result))
        cut(builder, result, width);
  }

  static Value getMask(Operation *op) {
    if (auto attention = dyn_cast<AttentionOp>(op))
      return attention.getMask();
    return cast<AttentionGradOp>(op).getMask();
  }

  /// [batch, tokens, heads, width]; logs of sums have no width.
  static bool isOfHeads(Value value) {
    return cast<RankedTensorType>(value.getType()).getRank() == 4;
  }

  static RankedTensorType withWidth(Type type, int64_t width) {
    SmallVector<int64_t> shape(cast<RankedTensorType>(type).getShape());
    shape.back() = width;
    return withShape(type, shape);
  }

  static Value widened(OpBuilder &builder, Value value, int64_t width) {
    const int64_t none[] = {0, 0, 0, 0};
    return widthOf(value) == width
               ? value
               : PadOp::create(builder, value.getLoc(),
                               withWidth(value.getType(), width), value, none,
                               none)
                     .getResult();
  }

  static void cut(OpBuilder &builder, Value result, int64_t width) {
    Type type = result.getType();
    if (widthOf(result) == width)
      return;
    result.setType(withWidth(type, width));
    const int64_t zeros[] = {0, 0, 0, 0}, ones[] = {1, 1, 1, 1};
    Value part =
        SliceOp::create(builder, result.getLoc(), type, result, zeros, ones);
    result.replaceAllUsesExcept(part, part.getDefiningOp());
  }
};

} // namespace
} // namespace zc
