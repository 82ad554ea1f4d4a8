//===- Rsqrt.cpp - train.rsqrt --------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value RsqrtOp::buildScalar(OpBuilder &builder, Location loc,
                           ValueRange operands) {
  ScalarBuilder s(builder, loc);
  Value x = operands[0];
  return s.rsqrt(x);
}

LogicalResult RsqrtOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                           ArrayRef<bool> wanted,
                           MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  Value grad = resultGrads[0];
  // -grad y^3 / 2
  Value y = getResult();
  Value half = splat(builder, loc, grad.getType(), -0.5);
  Value cube =
      MulOp::create(builder, loc, y, MulOp::create(builder, loc, y, y));
  operandGrads[0] = MulOp::create(
      builder, loc, MulOp::create(builder, loc, grad, half), cube);
  return success();
}

Precision RsqrtOp::getPrecision() { return Precision::Wide; }

} // namespace zc::train
