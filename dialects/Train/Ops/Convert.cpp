//===- Convert.cpp - train.convert --------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

static Value convertFloat(OpBuilder &builder, Location loc, Value x,
                          Type to) {
  Type from = x.getType();
  if (auto target = dyn_cast<FloatType>(to)) {
    if (target.getWidth() > from.getIntOrFloatBitWidth())
      return arith::ExtFOp::create(builder, loc, to, x);
    return arith::TruncFOp::create(builder, loc, to, x);
  }
  if (to.isInteger(1)) {
    Value zero = ScalarBuilder(builder, loc).constant(from, 0);
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, x,
                                 zero);
  }
  return arith::FPToSIOp::create(builder, loc, to, x);
}

static Value convertInteger(OpBuilder &builder, Location loc, Value x,
                            Type to) {
  Type from = x.getType();
  if (isa<FloatType>(to)) {
    if (from.isInteger(1))
      return arith::UIToFPOp::create(builder, loc, to, x);
    return arith::SIToFPOp::create(builder, loc, to, x);
  }
  if (to.isInteger(1)) {
    Value zero = arith::ConstantOp::create(builder, loc,
                                           builder.getIntegerAttr(from, 0));
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, x,
                                 zero);
  }
  if (from.isInteger(1))
    return arith::ExtUIOp::create(builder, loc, to, x);
  if (to.getIntOrFloatBitWidth() > from.getIntOrFloatBitWidth())
    return arith::ExtSIOp::create(builder, loc, to, x);
  return arith::TruncIOp::create(builder, loc, to, x);
}

Value ConvertOp::buildScalar(OpBuilder &builder, Location loc,
                             ValueRange operands) {
  Value x = operands[0];
  Type to = cast<RankedTensorType>(getType()).getElementType();
  if (to == x.getType())
    return x;
  if (isa<FloatType>(x.getType()))
    return convertFloat(builder, loc, x, to);
  return convertInteger(builder, loc, x, to);
}

LogicalResult ConvertOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                             ArrayRef<bool> wanted,
                             MutableArrayRef<Value> operandGrads) {
  auto from = cast<RankedTensorType>(getInput().getType());
  if (isa<FloatType>(from.getElementType()))
    operandGrads[0] =
        ConvertOp::create(builder, getLoc(), from, resultGrads[0]);
  return success();
}

} // namespace zc::train
