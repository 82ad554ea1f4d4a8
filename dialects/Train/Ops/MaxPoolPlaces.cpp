//===- MaxPoolPlaces.cpp - train.max_pool_places --------------------------===//
#include "dialects/Train/Ops/PoolSupport.h"

#include <limits>

using namespace mlir;

namespace zc::train {

LogicalResult MaxPoolPlacesOp::verify() {
  Window window = windowOf(*this, getWindow());
  if (failed(verifyPool(*this, window, getInput().getType(), "result",
                        getResult().getType())))
    return failure();
  return verifyPlaces(*this, window, getPlaces().getType(),
                      getResult().getType());
}

ShardingRule MaxPoolPlacesOp::getShardingRule() {
  return poolShardingRule(*this, windowOf(*this, getWindow()),
                          getInput().getType());
}

double MaxPoolPlacesOp::getFlops() {
  // maximum and comparison
  return 2.0 * numElements(getResult().getType()) *
         windowOf(*this, getWindow()).numElements();
}

void MaxPoolPlacesOp::buildLinalg(OpBuilder &builder, Location loc,
                                  ValueRange inputs, ValueRange outputs) {
  PoolLoops loops(builder, loc, windowOf(*this, getWindow()), inputs[0],
                  outputs[0]);
  Type integer = elementOf(outputs[1]);
  loops.forEachPlace([&] {
    Value rows[] = {loops.pooledRow(outputs[0]), loops.pooledRow(outputs[1])};
    buildFill(builder, loc, rows[0], -std::numeric_limits<double>::infinity());
    buildFill(builder, loc, rows[1], -1);
    loops.forEachElement([&] {
      Value index = loops.elementIndex(integer);
      buildPointwise(
          builder, loc, loops.imageRow(inputs[0]), rows,
          [&](OpBuilder &nested, Location at, ValueRange e) {
            ScalarBuilder s(nested, at);
            // The first element is it, also minus infinity, until a larger.
            Value none = arith::CmpIOp::create(
                nested, at, arith::CmpIPredicate::slt, e[2],
                arith::ConstantIntOp::create(nested, at, integer, 0));
            Value larger = s.compare(arith::CmpFPredicate::OGT, e[0], e[1]);
            Value takes = arith::OrIOp::create(nested, at, none, larger);
            return SmallVector<Value>{s.max(e[1], e[0]),
                                      s.select(takes, index, e[2])};
          });
    });
  });
}

} // namespace zc::train
