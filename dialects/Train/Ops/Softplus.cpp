//===- Softplus.cpp - train.softplus --------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

// max(x, 0) + log(1 + e^-|x|): no exponential overflows.
Value SoftplusOp::buildScalar(OpBuilder &builder, Location loc,
                              ValueRange operands) {
  ScalarBuilder s(builder, loc);
  Value x = operands[0];
  Value tail = s.exp(s.neg(math::AbsFOp::create(builder, loc, x)));
  Value log = math::Log1pOp::create(builder, loc, tail);
  return s.add(s.max(x, s.constant(x.getType(), 0)), log);
}

LogicalResult SoftplusOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                              ArrayRef<bool> wanted,
                              MutableArrayRef<Value> operandGrads) {
  Value slope = SigmoidOp::create(builder, getLoc(), getInput());
  operandGrads[0] = MulOp::create(builder, getLoc(), resultGrads[0], slope);
  return success();
}

Precision SoftplusOp::getPrecision() { return Precision::Wide; }

} // namespace zc::train
