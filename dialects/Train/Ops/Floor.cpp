//===- Floor.cpp - train.floor ------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value FloorOp::buildScalar(OpBuilder &builder, Location loc,
                           ValueRange operands) {
  return math::FloorOp::create(builder, loc, operands[0]);
}

// A step function: no gradient reaches the operand.
LogicalResult FloorOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                           ArrayRef<bool> wanted,
                           MutableArrayRef<Value> operandGrads) {
  return success();
}

} // namespace zc::train
