//===- Sub.cpp - train.sub ----------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value SubOp::buildScalar(OpBuilder &builder, Location loc,
                         ValueRange operands) {
  Value x = operands[0], y = operands[1];
  if (!isa<FloatType>(x.getType()))
    return arith::SubIOp::create(builder, loc, x, y);
  ScalarBuilder s(builder, loc);
  return s.sub(x, y);
}

LogicalResult SubOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                         ArrayRef<bool> wanted,
                         MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  Value grad = resultGrads[0];
  if (wanted[0])
    operandGrads[0] = grad;
  if (wanted[1])
    operandGrads[1] = NegOp::create(builder, loc, grad);
  return success();
}

OpFoldResult SubOp::fold(FoldAdaptor adaptor) {
  return isSplatOf(adaptor.getRhs(), 0) ? getLhs() : OpFoldResult();
}

} // namespace zc::train
