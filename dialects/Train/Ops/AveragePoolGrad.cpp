//===- AveragePoolGrad.cpp - train.average_pool_grad ----------------------===//
#include "dialects/Train/Ops/PoolSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult AveragePoolGradOp::verify() {
  return verifyAverage(*this, averageWindowOf(*this), getResult().getType(),
                       "grad", getGrad().getType());
}

ShardingRule AveragePoolGradOp::getShardingRule() {
  ShardingRule rule =
      poolShardingRule(*this, averageWindowOf(*this), getResult().getType());
  rule.linearity[0] = Linearity::Separate;
  return rule;
}

double AveragePoolGradOp::getFlops() {
  return static_cast<double>(numElements(getGrad().getType())) *
         averageWindowOf(*this).numElements();
}

// An element of the image adds up what the windows around it bring, so that
// elements do not wait for each other.
void AveragePoolGradOp::buildLinalg(OpBuilder &builder, Location loc,
                                    ValueRange inputs, ValueRange outputs) {
  PoolLoops loops(builder, loc, averageWindowOf(*this), outputs[0], inputs[0]);
  Value sums =
      buildTemporary(builder, loc, loops.rowShape(), elementOf(outputs[0]));
  loops.forEachImageElement([&] {
    buildFill(builder, loc, sums, 0);
    loops.forEachCoveringPlace([&] {
      Value divisor =
          loops.averageDivisor(elementOf(outputs[0]), getCountIncludePad());
      buildPointwise(builder, loc, loops.pooledRow(inputs[0]), sums,
                     [&](OpBuilder &nested, Location at, ValueRange e) {
                       ScalarBuilder s(nested, at);
                       return SmallVector<Value>{
                           s.add(e[1], s.div(e[0], divisor))};
                     });
    });
    buildCopy(builder, loc, sums, loops.imageRow(outputs[0]));
  });
}

} // namespace zc::train
