//===- Cos.cpp - train.cos ------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value CosOp::buildScalar(OpBuilder &builder, Location loc,
                         ValueRange operands) {
  return math::CosOp::create(builder, loc, operands[0]);
}

LogicalResult CosOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                         ArrayRef<bool> wanted,
                         MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  Value grad = resultGrads[0];
  Value slope = SinOp::create(builder, loc, getInput());
  operandGrads[0] =
      NegOp::create(builder, loc, MulOp::create(builder, loc, grad, slope));
  return success();
}

} // namespace zc::train
