//===- Dropout.cpp - train.dropout ----------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value DropoutOp::buildScalar(OpBuilder &, Location, ValueRange operands) {
  return operands[0];
}

LogicalResult DropoutOp::vjp(OpBuilder &, ValueRange resultGrads,
                             ArrayRef<bool>,
                             MutableArrayRef<Value> operandGrads) {
  operandGrads[0] = resultGrads[0];
  return success();
}

} // namespace zc::train
