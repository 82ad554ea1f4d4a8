//===- Exp.cpp - train.exp ------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value ExpOp::buildScalar(OpBuilder &builder, Location loc,
                         ValueRange operands) {
  ScalarBuilder s(builder, loc);
  Value x = operands[0];
  return s.exp(x);
}

LogicalResult ExpOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                         ArrayRef<bool> wanted,
                         MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  Value grad = resultGrads[0];
  operandGrads[0] = MulOp::create(builder, loc, grad, getResult());
  return success();
}

Precision ExpOp::getPrecision() { return Precision::Wide; }

} // namespace zc::train
