//===- Acosh.cpp - train.acosh ------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value AcoshOp::buildScalar(OpBuilder &builder, Location loc,
                           ValueRange operands) {
  return math::AcoshOp::create(builder, loc, operands[0]);
}

LogicalResult AcoshOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                           ArrayRef<bool> wanted,
                           MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  // Multiply two roots: the square of a large number overflows.
  Value x = getInput(), one = splat(builder, loc, getType(), 1);
  auto root = [&](Value value) -> Value {
    return SqrtOp::create(builder, loc, value);
  };
  Value divisor =
      MulOp::create(builder, loc, root(SubOp::create(builder, loc, x, one)),
                    root(AddOp::create(builder, loc, x, one)));
  operandGrads[0] = DivOp::create(builder, loc, resultGrads[0], divisor);
  return success();
}

} // namespace zc::train
