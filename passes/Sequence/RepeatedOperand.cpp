//===- RepeatedOperand.cpp - keys that several queries share --------------===//
#include "passes/Sequence/RepeatedOperand.h"

#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

RepeatedOperand::RepeatedOperand(Value all) : source(all) {
  SmallVector<Operation *> passed;
  for (Operation *op = all.getDefiningOp();
       isa_and_nonnull<ReshapeOp, TransposeOp, BroadcastOp>(op);
       op = op->getOperand(0).getDefiningOp()) {
    passed.push_back(op);
    if (numElements(op->getOperand(0).getType()) <
        numElements(source.getType())) {
      source = op->getOperand(0);
      chain.assign(passed.rbegin(), passed.rend());
    }
  }
}

Value RepeatedOperand::repeat(OpBuilder &builder, Value part) const {
  for (Operation *op : chain) {
    Operation *made = builder.clone(*op);
    made->setOperand(0, part);
    part = made->getResult(0);
  }
  return part;
}

Value RepeatedOperand::sum(OpBuilder &builder, Value grad) const {
  for (Operation *op : llvm::reverse(chain)) {
    Value of[1];
    const bool wanted[] = {true};
    LogicalResult found = cast<DifferentiableOpInterface>(op).vjp(
        builder, ValueRange{grad}, wanted, of);
    assert(succeeded(found) && of[0] && "moving elements has a gradient");
    (void)found;
    grad = of[0];
  }
  return grad;
}

Value RepeatedOperand::place(OpBuilder &builder, Value sum) const {
  for (Operation *op : chain) {
    auto repeat = dyn_cast<BroadcastOp>(op);
    if (!repeat) {
      Operation *made = builder.clone(*op);
      made->setOperand(0, sum);
      sum = made->getResult(0);
      continue;
    }
    auto to = cast<RankedTensorType>(repeat.getType());
    auto from = cast<RankedTensorType>(repeat.getInput().getType());
    SmallVector<int64_t> shape(to.getRank(), 1), none(to.getRank(), 0);
    for (auto [dim, place] : llvm::enumerate(repeat.getDims()))
      shape[place] = from.getDimSize(dim);
    sum = reshape(builder, op->getLoc(), sum, shape);
    sum =
        PadOp::create(builder, op->getLoc(),
                      withShape(sum.getType(), to.getShape()), sum, none, none);
  }
  return sum;
}

} // namespace zc
