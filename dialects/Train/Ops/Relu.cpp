//===- Relu.cpp - train.relu ----------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value ReluOp::buildScalar(OpBuilder &builder, Location loc,
                          ValueRange operands) {
  ScalarBuilder s(builder, loc);
  Value x = operands[0];
  return s.max(x, s.constant(x.getType(), 0));
}

LogicalResult ReluOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                          ArrayRef<bool> wanted,
                          MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  Value grad = resultGrads[0];
  // From the result, which the next op keeps anyway.
  Value zero = splat(builder, loc, grad.getType(), 0);
  Value positive = compare(builder, loc, Predicate::Gt, getResult(), zero);
  operandGrads[0] = SelectOp::create(builder, loc, positive, grad, zero);
  return success();
}

} // namespace zc::train
