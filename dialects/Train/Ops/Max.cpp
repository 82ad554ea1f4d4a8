//===- Max.cpp - train.max ----------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value MaxOp::buildScalar(OpBuilder &builder, Location loc,
                         ValueRange operands) {
  Value x = operands[0], y = operands[1];
  if (!isa<FloatType>(x.getType()))
    return arith::MaxSIOp::create(builder, loc, x, y);
  ScalarBuilder s(builder, loc);
  return s.max(x, y);
}

LogicalResult MaxOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                         ArrayRef<bool> wanted,
                         MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  Value grad = resultGrads[0];
  // The winner takes the gradient; equals take half each.
  Value zero = splat(builder, loc, grad.getType(), 0);
  Value half = MulOp::create(builder, loc, grad,
                             splat(builder, loc, grad.getType(), 0.5));
  Value equal = compare(builder, loc, "eq", getLhs(), getRhs());
  for (unsigned side : {0u, 1u}) {
    if (!wanted[side])
      continue;
    Value wins =
        compare(builder, loc, "gt", getOperand(side), getOperand(1 - side));
    Value shared = SelectOp::create(builder, loc, equal, half, zero);
    operandGrads[side] = SelectOp::create(builder, loc, wins, grad, shared);
  }
  return success();
}

} // namespace zc::train
