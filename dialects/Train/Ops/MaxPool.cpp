//===- MaxPool.cpp - train.max_pool ---------------------------------------===//
#include "dialects/Train/Ops/PoolSupport.h"

#include <limits>

using namespace mlir;

namespace zc::train {

LogicalResult MaxPoolOp::verify() {
  return verifyPool(*this, windowOf(*this, getWindow()), getInput().getType(),
                    "result", getResult().getType());
}

LogicalResult MaxPoolOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                             ArrayRef<bool> wanted,
                             MutableArrayRef<Value> operandGrads) {
  operandGrads[0] = MaxPoolGradOp::create(
      builder, getLoc(), getInput().getType(), getInput(), getResult(),
      resultGrads[0], getWindowAttr(), getStridesAttr(), getDilationsAttr(),
      getPadsLowAttr(), getPadsHighAttr(), getChannelsLastAttr());
  return success();
}

ShardingRule MaxPoolOp::getShardingRule() {
  return poolShardingRule(*this, windowOf(*this, getWindow()),
                          getInput().getType());
}

double MaxPoolOp::getFlops() {
  return static_cast<double>(numElements(getResult().getType())) *
         windowOf(*this, getWindow()).numElements();
}

void MaxPoolOp::buildLinalg(OpBuilder &builder, Location loc, ValueRange inputs,
                            ValueRange outputs) {
  PoolLoops loops(builder, loc, windowOf(*this, getWindow()), inputs[0],
                  outputs[0]);
  loops.forEachPlace([&] {
    Value largest = loops.pooledRow(outputs[0]);
    buildFill(builder, loc, largest, -std::numeric_limits<double>::infinity());
    loops.forEachElement([&] {
      buildPointwise(builder, loc, loops.imageRow(inputs[0]), largest,
                     [](OpBuilder &nested, Location at, ValueRange e) {
                       ScalarBuilder s(nested, at);
                       return SmallVector<Value>{s.max(e[1], e[0])};
                     });
    });
  });
}

} // namespace zc::train
