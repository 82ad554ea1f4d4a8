//===- Round.cpp - train.round ------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value RoundOp::buildScalar(OpBuilder &builder, Location loc,
                           ValueRange operands) {
  return math::RoundEvenOp::create(builder, loc, operands[0]);
}

// A step function: no gradient reaches the operand.
LogicalResult RoundOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                           ArrayRef<bool> wanted,
                           MutableArrayRef<Value> operandGrads) {
  return success();
}

} // namespace zc::train
