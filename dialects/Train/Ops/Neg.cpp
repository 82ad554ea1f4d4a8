//===- Neg.cpp - train.neg ------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value NegOp::buildScalar(OpBuilder &builder, Location loc,
                         ValueRange operands) {
  ScalarBuilder s(builder, loc);
  Value x = operands[0];
  return s.neg(x);
}

LogicalResult NegOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                         ArrayRef<bool> wanted,
                         MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  Value grad = resultGrads[0];
  operandGrads[0] = NegOp::create(builder, loc, grad);
  return success();
}

} // namespace zc::train
