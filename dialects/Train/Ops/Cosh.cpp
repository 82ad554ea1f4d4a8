//===- Cosh.cpp - train.cosh --------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value CoshOp::buildScalar(OpBuilder &builder, Location loc,
                          ValueRange operands) {
  return math::CoshOp::create(builder, loc, operands[0]);
}

LogicalResult CoshOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                          ArrayRef<bool> wanted,
                          MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  Value slope = SinhOp::create(builder, loc, getInput());
  operandGrads[0] = MulOp::create(builder, loc, resultGrads[0], slope);
  return success();
}

Precision CoshOp::getPrecision() { return Precision::Wide; }

} // namespace zc::train
