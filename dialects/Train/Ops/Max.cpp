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
  giveToWinner(builder, *this, Predicate::Gt, resultGrads[0], wanted,
               operandGrads);
  return success();
}

} // namespace zc::train
