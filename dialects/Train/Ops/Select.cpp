//===- Select.cpp - train.select ----------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value SelectOp::buildScalar(OpBuilder &builder, Location loc,
                            ValueRange operands) {
  return arith::SelectOp::create(builder, loc, operands[0], operands[1],
                                 operands[2]);
}

LogicalResult SelectOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                            ArrayRef<bool> wanted,
                            MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  Value grad = resultGrads[0];
  Value zero = splat(builder, loc, grad.getType(), 0);
  if (wanted[1])
    operandGrads[1] =
        SelectOp::create(builder, loc, getCondition(), grad, zero);
  if (wanted[2])
    operandGrads[2] =
        SelectOp::create(builder, loc, getCondition(), zero, grad);
  return success();
}

} // namespace zc::train
