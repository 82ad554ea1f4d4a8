//===- RowSupport.cpp - what softmax and its losses do with a row ---------===//
#include "dialects/Train/Ops/RowSupport.h"

#include <limits>

using namespace mlir;

namespace zc::train {

Value buildRowLargest(OpBuilder &builder, Location loc, Value row,
                      Value scratch) {
  return buildReduction(
      builder, loc, row, scratch, -std::numeric_limits<double>::infinity(),
      [](OpBuilder &nested, Location at, ValueRange e) {
        return SmallVector<Value>{ScalarBuilder(nested, at).max(e[1], e[0])};
      })[0];
}

std::pair<Value, Value> buildRowExp(OpBuilder &builder, Location loc, Value row,
                                    Value exponentials, Value scratch) {
  Value largest = buildRowLargest(builder, loc, row, scratch);
  auto addExp = [&](OpBuilder &nested, Location at, Value x, Value sum) {
    ScalarBuilder s(nested, at);
    Value power = s.exp(s.sub(x, largest));
    return std::make_pair(power, s.add(sum, power));
  };
  if (!exponentials) {
    Value sum = buildReduction(
        builder, loc, row, scratch, 0,
        [&](OpBuilder &nested, Location at, ValueRange e) {
          return SmallVector<Value>{addExp(nested, at, e[0], e[1]).second};
        })[0];
    return {largest, sum};
  }
  buildFill(builder, loc, scratch, 0);
  AffineMap element = identityMap(builder, 1);
  AffineMap scalar = AffineMap::get(1, 0, {}, builder.getContext());
  buildGeneric(builder, loc, 1, {element, element, scalar}, row,
               {exponentials, scratch},
               [&](OpBuilder &nested, Location at, ValueRange e) {
                 auto [power, sum] = addExp(nested, at, e[0], e[2]);
                 return SmallVector<Value>{power, sum};
               });
  return {largest, buildLoad(builder, loc, scratch)};
}

} // namespace zc::train
