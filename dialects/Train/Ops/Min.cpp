//===- Min.cpp - train.min ----------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value MinOp::buildScalar(OpBuilder &builder, Location loc,
                         ValueRange operands) {
  Value x = operands[0], y = operands[1];
  if (!isa<FloatType>(x.getType()))
    return arith::MinSIOp::create(builder, loc, x, y);
  ScalarBuilder s(builder, loc);
  return s.min(x, y);
}

LogicalResult MinOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                         ArrayRef<bool> wanted,
                         MutableArrayRef<Value> operandGrads) {
  giveToWinner(builder, *this, Predicate::Lt, resultGrads[0], wanted,
               operandGrads);
  return success();
}

} // namespace zc::train
