//===- Add.cpp - train.add ----------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value AddOp::buildScalar(OpBuilder &builder, Location loc,
                         ValueRange operands) {
  Value x = operands[0], y = operands[1];
  if (!isa<FloatType>(x.getType()))
    return arith::AddIOp::create(builder, loc, x, y);
  ScalarBuilder s(builder, loc);
  return s.add(x, y);
}

LogicalResult AddOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                         ArrayRef<bool> wanted,
                         MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  Value grad = resultGrads[0];
  (void)loc;
  if (wanted[0])
    operandGrads[0] = grad;
  if (wanted[1])
    operandGrads[1] = grad;
  return success();
}

OpFoldResult AddOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getRhs(), 0))
    return getLhs();
  if (isSplatOf(adaptor.getLhs(), 0))
    return getRhs();
  return {};
}

} // namespace zc::train
