//===- Log.cpp - train.log ------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value LogOp::buildScalar(OpBuilder &builder, Location loc,
                         ValueRange operands) {
  ScalarBuilder s(builder, loc);
  Value x = operands[0];
  return s.log(x);
}

LogicalResult LogOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                         ArrayRef<bool> wanted,
                         MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  Value grad = resultGrads[0];
  operandGrads[0] = DivOp::create(builder, loc, grad, getInput());
  return success();
}

Precision LogOp::getPrecision() { return Precision::Wide; }

} // namespace zc::train
