//===- Line.cpp - train.line --------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

// Where both terms cancel, the rounding of the product would be all that is
// left.
Value LineOp::buildScalar(OpBuilder &builder, Location loc,
                          ValueRange operands) {
  ScalarBuilder s(builder, loc, arith::FastMathFlags::none);
  Value x = operands[0];
  return s.fma(x, s.constant(x.getType(), getSlope().convertToDouble()),
               s.constant(x.getType(), getOffset().convertToDouble()));
}

LogicalResult LineOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                          ArrayRef<bool> wanted,
                          MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  Value slope = splat(builder, loc, getType(), getSlope().convertToDouble());
  operandGrads[0] = MulOp::create(builder, loc, resultGrads[0], slope);
  return success();
}

} // namespace zc::train
