//===- Acos.cpp - train.acos --------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value AcosOp::buildScalar(OpBuilder &builder, Location loc,
                          ValueRange operands) {
  return math::AcosOp::create(builder, loc, operands[0]);
}

LogicalResult AcosOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                          ArrayRef<bool> wanted,
                          MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  // Compute 1 - x^2 as (1 - x)(1 + x): near 1 the former loses digits.
  Value x = getInput(), one = splat(builder, loc, getType(), 1);
  Value product =
      MulOp::create(builder, loc, SubOp::create(builder, loc, one, x),
                    AddOp::create(builder, loc, one, x));
  Value divisor = SqrtOp::create(builder, loc, product);
  Value grad = NegOp::create(builder, loc, resultGrads[0]);
  operandGrads[0] = DivOp::create(builder, loc, grad, divisor);
  return success();
}

Precision AcosOp::getPrecision() { return Precision::Wide; }

} // namespace zc::train
