//===- Div.cpp - train.div ----------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value DivOp::buildScalar(OpBuilder &builder, Location loc,
                         ValueRange operands) {
  Value x = operands[0], y = operands[1];
  if (!isa<FloatType>(x.getType()))
    return arith::DivSIOp::create(builder, loc, x, y);
  ScalarBuilder s(builder, loc);
  return s.div(x, y);
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
