//===- Gaussian.cpp - train.gaussian ------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value GaussianOp::buildScalar(OpBuilder &builder, Location loc,
                              ValueRange operands) {
  // Correct for the rounding error of x^2, which e^-x^2 would amplify.
  ScalarBuilder s(builder, loc, arith::FastMathFlags::none);
  Type type = operands[0].getType();
  Value bound = s.constant(type, 30);
  Value x = math::AbsFOp::create(builder, loc, operands[0]);
  x = s.select(s.compare(arith::CmpFPredicate::OGT, x, bound), bound, x);
  Value square = s.mul(x, x), low = s.fma(x, x, s.neg(square));
  // Square the root: where e^-x^2 is subnormal, its root is not, and the
  // exponential flushes subnormal numbers.
  Value root = s.exp(s.mul(square, s.constant(type, -0.5)));
  Value power = s.mul(root, root);
  return s.fma(power, s.neg(low), power);
}

LogicalResult GaussianOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                              ArrayRef<bool> wanted,
                              MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  // -2 x y
  Value two = splat(builder, loc, getType(), -2);
  Value slope = MulOp::create(
      builder, loc, MulOp::create(builder, loc, getInput(), two), getResult());
  operandGrads[0] = MulOp::create(builder, loc, resultGrads[0], slope);
  return success();
}

} // namespace zc::train
