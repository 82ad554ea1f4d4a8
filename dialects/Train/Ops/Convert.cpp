//===- Convert.cpp - train.convert --------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

static Value convertFloat(OpBuilder &builder, Location loc, Value x, Type to) {
  Type from = x.getType();
  if (auto target = dyn_cast<FloatType>(to)) {
    // f16 and bf16 convert to each other by way of f32.
    if (target.getWidth() == from.getIntOrFloatBitWidth()) {
      x = arith::ExtFOp::create(builder, loc, builder.getF32Type(), x);
      return arith::TruncFOp::create(builder, loc, to, x);
    }
    // No CPU has an instruction for this one, nor LLVM a function.
    if (from.isF64() && target.isBF16())
      x = arith::TruncFOp::create(builder, loc, builder.getF32Type(), x);
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

// `to` and the type of x are signless; isUnsigned says how to read x.
static Value convertInteger(OpBuilder &builder, Location loc, Value x, Type to,
                            bool isUnsigned) {
  Type from = x.getType();
  if (isa<FloatType>(to)) {
    if (isUnsigned)
      return arith::UIToFPOp::create(builder, loc, to, x);
    return arith::SIToFPOp::create(builder, loc, to, x);
  }
  if (from == to)
    return x;
  if (to.isInteger(1)) {
    Value zero = arith::ConstantOp::create(builder, loc,
                                           builder.getIntegerAttr(from, 0));
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, x,
                                 zero);
  }
  if (to.getIntOrFloatBitWidth() < from.getIntOrFloatBitWidth())
    return arith::TruncIOp::create(builder, loc, to, x);
  if (isUnsigned)
    return arith::ExtUIOp::create(builder, loc, to, x);
  return arith::ExtSIOp::create(builder, loc, to, x);
}

Value ConvertOp::buildScalar(OpBuilder &builder, Location loc,
                             ValueRange operands) {
  Value x = operands[0];
  if (getRoundsOperand())
    x = narrowScalar(builder, loc, x, getElementTypeOrSelf(getInput()));
  Type from = x.getType();
  Type to = cast<RankedTensorType>(getType()).getElementType();
  if (to == from)
    return x;
  Type target = withoutSign(to);
  bool isUnsigned = from.isInteger(1) || from.isUnsignedInteger();
  Value result;
  if (isa<FloatType>(from) && to.isUnsignedInteger())
    result = arith::FPToUIOp::create(builder, loc, target, x);
  else if (isa<FloatType>(from))
    result = convertFloat(builder, loc, x, target);
  else
    result = convertInteger(builder, loc,
                            castSign(builder, loc, x, withoutSign(from)),
                            target, isUnsigned);
  return castSign(builder, loc, result, to);
}

LogicalResult ConvertOp::verify() {
  if (getOfBackward() && !getRoundsParameter())
    return emitOpError("is of_backward, and rounds_parameter is not set");
  if (getRoundsResult() && (!isa<FloatType>(getElementTypeOrSelf(getInput())) ||
                            !isa<FloatType>(getElementTypeOrSelf(getResult()))))
    return emitOpError("rounds what an op has computed, and is not of floats");
  if (getRoundsOperand() && !isNarrow(getElementTypeOrSelf(getInput())))
    return emitOpError("rounds its operand, which has no floats of 16 bits");
  return success();
}

// Terms that lose bits one by one do not add up to what their sum would lose.
// That is done where an op with results of 16 bits computes them wider, as it
// does inside a matmul, and to send terms, where it was asked for.
ShardingRule ConvertOp::getShardingRule() {
  auto from = dyn_cast<FloatType>(getElementTypeOrSelf(getInput()));
  auto to = dyn_cast<FloatType>(getElementTypeOrSelf(getResult()));
  bool mayRound = (*this)->hasAttr(kStagingAttr) || getRoundsResult();
  bool isLinear = from && to && (mayRound || to.getWidth() > from.getWidth());
  return ShardingRule::elementwise(getOperation(), isLinear ? Linearity::Joint
                                                            : Linearity::None);
}

LogicalResult ConvertOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                             ArrayRef<bool> wanted,
                             MutableArrayRef<Value> operandGrads) {
  auto from = cast<RankedTensorType>(getInput().getType());
  if (isa<FloatType>(from.getElementType()))
    operandGrads[0] = narrow(builder, getLoc(), resultGrads[0], from);
  return success();
}

} // namespace zc::train
