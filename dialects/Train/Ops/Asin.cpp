//===- Asin.cpp - train.asin --------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value AsinOp::buildScalar(OpBuilder &builder, Location loc,
                          ValueRange operands) {
  return math::AsinOp::create(builder, loc, operands[0]);
}

LogicalResult AsinOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                          ArrayRef<bool> wanted,
                          MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  // Compute 1 - x^2 as (1 - x)(1 + x): near 1 the former loses digits.
  Value x = getInput(), one = splat(builder, loc, getType(), 1);
  Value product =
      MulOp::create(builder, loc, SubOp::create(builder, loc, one, x),
                    AddOp::create(builder, loc, one, x));
  Value divisor = SqrtOp::create(builder, loc, product);
  operandGrads[0] = DivOp::create(builder, loc, resultGrads[0], divisor);
  return success();
}

Precision AsinOp::getPrecision() { return Precision::Wide; }

} // namespace zc::train
