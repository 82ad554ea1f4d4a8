//===- Asinh.cpp - train.asinh ------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value AsinhOp::buildScalar(OpBuilder &builder, Location loc,
                           ValueRange operands) {
  return math::AsinhOp::create(builder, loc, operands[0]);
}

LogicalResult AsinhOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                           ArrayRef<bool> wanted,
                           MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  // sqrt(1 + x^2), or |x| where it is so large that its square is none.
  Value x = getInput(), size = AbsOp::create(builder, loc, x);
  Value bound = splat(builder, loc, getType(), 0x1p30);
  Value one = splat(builder, loc, getType(), 1);
  Value small = MinOp::create(builder, loc, size, bound);
  Value square = MulOp::create(builder, loc, small, small);
  Value root =
      SqrtOp::create(builder, loc, AddOp::create(builder, loc, one, square));
  Value isLarge = compare(builder, loc, Predicate::Gt, size, bound);
  Value divisor = SelectOp::create(builder, loc, isLarge, size, root);
  operandGrads[0] = DivOp::create(builder, loc, resultGrads[0], divisor);
  return success();
}

} // namespace zc::train
