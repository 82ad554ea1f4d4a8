//===- Mul.cpp - train.mul ----------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value MulOp::buildScalar(OpBuilder &builder, Location loc,
                         ValueRange operands) {
  Value x = operands[0], y = operands[1];
  if (!isa<FloatType>(x.getType()))
    return arith::MulIOp::create(builder, loc, x, y);
  ScalarBuilder s(builder, loc);
  return s.mul(x, y);
}

LogicalResult MulOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                         ArrayRef<bool> wanted,
                         MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  Value grad = resultGrads[0];
  if (wanted[0])
    operandGrads[0] = MulOp::create(builder, loc, grad, getRhs());
  if (wanted[1])
    operandGrads[1] = MulOp::create(builder, loc, grad, getLhs());
  return success();
}

OpFoldResult MulOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getRhs(), 1))
    return getLhs();
  if (isSplatOf(adaptor.getLhs(), 1))
    return getRhs();
  return {};
}

} // namespace zc::train
