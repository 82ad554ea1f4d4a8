//===- AveragePool.cpp - train.average_pool -------------------------------===//
#include "dialects/Train/Ops/PoolSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult AveragePoolOp::verify() {
  return verifyAverage(*this, averageWindowOf(*this), getInput().getType(),
                       "result", getResult().getType());
}

LogicalResult AveragePoolOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                                 ArrayRef<bool> wanted,
                                 MutableArrayRef<Value> operandGrads) {
  operandGrads[0] = AveragePoolGradOp::create(builder, getLoc(),
                                              TypeRange{getInput().getType()},
                                              resultGrads, (*this)->getAttrs());
  return success();
}

ShardingRule AveragePoolOp::getShardingRule() {
  ShardingRule rule =
      poolShardingRule(*this, averageWindowOf(*this), getInput().getType());
  rule.linearity[0] = Linearity::Separate;
  return rule;
}

double AveragePoolOp::getFlops() {
  return static_cast<double>(numElements(getResult().getType())) *
         averageWindowOf(*this).numElements();
}

void AveragePoolOp::buildLinalg(OpBuilder &builder, Location loc,
                                ValueRange inputs, ValueRange outputs) {
  PoolLoops loops(builder, loc, averageWindowOf(*this), inputs[0], outputs[0]);
  Value sums =
      buildTemporary(builder, loc, loops.rowShape(), elementOf(outputs[0]));
  loops.forEachPlace([&] {
    buildFill(builder, loc, sums, 0);
    loops.forEachElement([&] {
      buildPointwise(builder, loc, loops.imageRow(inputs[0]), sums,
                     [](OpBuilder &nested, Location at, ValueRange e) {
                       ScalarBuilder s(nested, at);
                       return SmallVector<Value>{s.add(e[1], e[0])};
                     });
    });
    Value divisor =
        loops.averageDivisor(elementOf(outputs[0]), getCountIncludePad());
    buildPointwise(builder, loc, sums, loops.pooledRow(outputs[0]),
                   [&](OpBuilder &nested, Location at, ValueRange e) {
                     ScalarBuilder s(nested, at);
                     return SmallVector<Value>{s.div(e[0], divisor)};
                   });
  });
}

} // namespace zc::train
