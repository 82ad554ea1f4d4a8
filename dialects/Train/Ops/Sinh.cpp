//===- Sinh.cpp - train.sinh --------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value SinhOp::buildScalar(OpBuilder &builder, Location loc,
                          ValueRange operands) {
  return math::SinhOp::create(builder, loc, operands[0]);
}

LogicalResult SinhOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                          ArrayRef<bool> wanted,
                          MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  Value slope = CoshOp::create(builder, loc, getInput());
  operandGrads[0] = MulOp::create(builder, loc, resultGrads[0], slope);
  return success();
}

Precision SinhOp::getPrecision() { return Precision::Wide; }

} // namespace zc::train
