//===- Div.cpp - train.div ----------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

// Rounds toward zero. x / 0 is 0 and the most negative x / -1 is x: data must
// not end the run.
static Value divideIntegers(OpBuilder &builder, Location loc, Value x,
                            Value y) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(x.getType(), value));
  };
  auto isEqual = [&](int64_t value) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, y,
                                 constant(value));
  };
  Value zero = constant(0);
  Value byZero = isEqual(0), byMinusOne = isEqual(-1);
  Value special = arith::OrIOp::create(builder, loc, byZero, byMinusOne);
  Value divisor =
      arith::SelectOp::create(builder, loc, special, constant(1), y);
  Value quotient = arith::DivSIOp::create(builder, loc, x, divisor);
  Value negated = arith::SubIOp::create(builder, loc, zero, x);
  Value whole =
      arith::SelectOp::create(builder, loc, byMinusOne, negated, quotient);
  return arith::SelectOp::create(builder, loc, byZero, zero, whole);
}

Value DivOp::buildScalar(OpBuilder &builder, Location loc,
                         ValueRange operands) {
  Value x = operands[0], y = operands[1];
  if (!isa<FloatType>(x.getType()))
    return divideIntegers(builder, loc, x, y);
  // Models of float32 divide doubles where every digit counts: LLVM makes such
  // a quotient one of float32, and may multiply by a reciprocal unless that is
  // forbidden.
  auto flags = x.getType().isF64() ? arith::FastMathFlags::none : fastMath();
  return ScalarBuilder(builder, loc, flags).div(x, y);
}

LogicalResult DivOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                         ArrayRef<bool> wanted,
                         MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  Value grad = resultGrads[0];
  if (wanted[0])
    operandGrads[0] = DivOp::create(builder, loc, grad, getRhs());
  if (wanted[1]) {
    // -grad (x / y) / y
    Value quotient = DivOp::create(builder, loc, grad, getRhs());
    Value product = MulOp::create(builder, loc, quotient, getResult());
    operandGrads[1] = NegOp::create(builder, loc, product);
  }
  return success();
}

ShardingRule DivOp::getShardingRule() {
  auto rule = ShardingRule::elementwise(getOperation(), Linearity::None);
  rule.linearity[0] = Linearity::Separate;
  return rule;
}

OpFoldResult DivOp::fold(FoldAdaptor adaptor) {
  return isSplatOf(adaptor.getRhs(), 1) ? getLhs() : OpFoldResult();
}

} // namespace zc::train
