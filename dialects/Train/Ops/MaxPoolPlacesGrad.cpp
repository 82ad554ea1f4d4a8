//===- MaxPoolPlacesGrad.cpp - train.max_pool_places_grad -----------------===//
#include "dialects/Train/Ops/PoolSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult MaxPoolPlacesGradOp::verify() {
  Window window = windowOf(*this, getWindow());
  if (failed(verifyPool(*this, window, getResult().getType(), "grad",
                        getGrad().getType())))
    return failure();
  return verifyPlaces(*this, window, getPlaces().getType(),
                      getGrad().getType());
}

ShardingRule MaxPoolPlacesGradOp::getShardingRule() {
  ShardingRule rule = poolShardingRule(*this, windowOf(*this, getWindow()),
                                       getResult().getType());
  rule.linearity[1] = Linearity::Separate;
  return rule;
}

double MaxPoolPlacesGradOp::getFlops() {
  // compare and add
  return 2.0 * numElements(getGrad().getType()) *
         windowOf(*this, getWindow()).numElements();
}

void MaxPoolPlacesGradOp::buildLinalg(OpBuilder &builder, Location loc,
                                      ValueRange inputs, ValueRange outputs) {
  PoolLoops loops(builder, loc, windowOf(*this, getWindow()), outputs[0],
                  inputs[0]);
  Type integer = elementOf(inputs[0]);
  buildFill(builder, loc, outputs[0], 0);
  loops.forEachPlace([&] {
    loops.forEachElement([&] {
      Value index = loops.elementIndex(integer);
      buildPointwise(builder, loc,
                     {loops.pooledRow(inputs[0]), loops.pooledRow(inputs[1])},
                     loops.imageRow(outputs[0]),
                     [&](OpBuilder &nested, Location at, ValueRange e) {
                       ScalarBuilder s(nested, at);
                       Value takes = arith::CmpIOp::create(
                           nested, at, arith::CmpIPredicate::eq, e[0], index);
                       Value zero = s.constant(e[2].getType(), 0);
                       return SmallVector<Value>{
                           s.add(e[2], s.select(takes, e[1], zero))};
                     });
    });
  });
}

} // namespace zc::train
