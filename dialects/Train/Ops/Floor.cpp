//===- Floor.cpp - train.floor, train.floor_power -------------------------===//
#include "dialects/Train/Float8Ops.h"
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

// Code generation takes the exponent's bits for the first three
// (Float8Conversion.h); a logarithm that is rounded up is one too large.
Value FloorPowerOp::buildScalar(OpBuilder &builder, Location loc,
                                ValueRange operands) {
  Value exponent = math::FloorOp::create(
      builder, loc, math::Log2Op::create(builder, loc, operands[0]));
  Value power = math::Exp2Op::create(builder, loc, exponent);
  Value isAbove = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT,
                                        power, operands[0]);
  ScalarBuilder s(builder, loc);
  Value half = s.mul(power, s.constant(power.getType(), 0.5));
  return arith::SelectOp::create(builder, loc, isAbove, half, power);
}

} // namespace zc::train
