//===- MaxPoolGrad.cpp - train.max_pool_grad ------------------------------===//
#include "dialects/Train/Ops/PoolSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult MaxPoolGradOp::verify() {
  RankedTensorType image = getInput().getType();
  if (failed(verifyPool(*this, windowOf(*this, getWindow()), image, "output",
                        getOutput().getType())) ||
      failed(verifyType(*this, "grad", getGrad().getType(),
                        getOutput().getType())))
    return failure();
  return verifyType(*this, "result", getResult().getType(), image);
}

ShardingRule MaxPoolGradOp::getShardingRule() {
  ShardingRule rule = poolShardingRule(*this, windowOf(*this, getWindow()),
                                       getInput().getType());
  rule.linearity[2] = Linearity::Separate;
  return rule;
}

double MaxPoolGradOp::getFlops() {
  // compare and add
  return 2.0 * numElements(getGrad().getType()) *
         windowOf(*this, getWindow()).numElements();
}

void MaxPoolGradOp::buildLinalg(OpBuilder &builder, Location loc,
                                ValueRange inputs, ValueRange outputs) {
  PoolLoops loops(builder, loc, windowOf(*this, getWindow()), inputs[0],
                  inputs[1]);
  // A place's gradient waits in `pending` until the first element that equals
  // the maximum takes it; zero is left for the elements after it.
  Value pending =
      buildTemporary(builder, loc, loops.rowShape(), elementOf(inputs[2]));
  buildFill(builder, loc, outputs[0], 0);
  loops.forEachPlace([&] {
    buildCopy(builder, loc, loops.pooledRow(inputs[2]), pending);
    loops.forEachElement([&] {
      buildPointwise(
          builder, loc, {loops.imageRow(inputs[0]), loops.pooledRow(inputs[1])},
          {loops.imageRow(outputs[0]), pending},
          [](OpBuilder &nested, Location at, ValueRange e) {
            ScalarBuilder s(nested, at);
            Value zero = s.constant(e[3].getType(), 0);
            // Unordered: the gradient of a maximum that is NaN is not lost.
            Value takes = s.compare(arith::CmpFPredicate::UEQ, e[0], e[1]);
            Value taken = s.select(takes, e[3], zero);
            return SmallVector<Value>{s.add(e[2], taken),
                                      s.select(takes, zero, e[3])};
          });
    });
  });
}

} // namespace zc::train
