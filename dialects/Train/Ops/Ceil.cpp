//===- Ceil.cpp - train.ceil ------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value CeilOp::buildScalar(OpBuilder &builder, Location loc,
                          ValueRange operands) {
  return math::CeilOp::create(builder, loc, operands[0]);
}

// A step function: no gradient reaches the operand.
LogicalResult CeilOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                          ArrayRef<bool> wanted,
                          MutableArrayRef<Value> operandGrads) {
  return success();
}

} // namespace zc::train
