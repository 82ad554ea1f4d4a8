//===- Sqrt.cpp - train.sqrt ----------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value SqrtOp::buildScalar(OpBuilder &builder, Location loc,
                          ValueRange operands) {
  ScalarBuilder s(builder, loc);
  Value x = operands[0];
  return s.sqrt(x);
}

LogicalResult SqrtOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                          ArrayRef<bool> wanted,
                          MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  Value grad = resultGrads[0];
  // grad / (2 sqrt(x))
  Value half = splat(builder, loc, grad.getType(), 0.5);
  Value scaled = MulOp::create(builder, loc, grad, half);
  operandGrads[0] = DivOp::create(builder, loc, scaled, getResult());
  return success();
}

Precision SqrtOp::getPrecision() { return Precision::Wide; }

} // namespace zc::train
