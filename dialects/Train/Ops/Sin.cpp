//===- Sin.cpp - train.sin ------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value SinOp::buildScalar(OpBuilder &builder, Location loc,
                         ValueRange operands) {
  return math::SinOp::create(builder, loc, operands[0]);
}

LogicalResult SinOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                         ArrayRef<bool> wanted,
                         MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  Value grad = resultGrads[0];
  Value slope = CosOp::create(builder, loc, getInput());
  operandGrads[0] = MulOp::create(builder, loc, grad, slope);
  return success();
}

} // namespace zc::train
