//===- DropoutTraining.cpp - train.dropout_training -----------------------===//
#include "dialects/Train/Ops/RandomSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult DropoutTrainingOp::verify() {
  double ratio = getRatio().convertToDouble();
  if (!(ratio >= 0 && ratio < 1))
    return emitOpError("expected a ratio in [0, 1), found ") << ratio;
  return verifyRandomOperands(*this, getKey(), getPositions());
}

Value DropoutTrainingOp::buildScalar(OpBuilder &builder, Location loc,
                                     ValueRange operands) {
  double ratio = getRatio().convertToDouble();
  Value bits =
      buildRandomBits(builder, loc, operands[1], operands.drop_front(2));
  BitBuilder b(builder, loc, builder.getI32Type());
  Value limit = b.constant(static_cast<uint64_t>(ratio * 4294967296.0));
  Value keeps = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge,
                                      bits, limit);
  ScalarBuilder s(builder, loc);
  Value x = operands[0];
  Value scaled = s.mul(x, s.constant(x.getType(), 1 / (1 - ratio)));
  return s.select(keeps, scaled, s.constant(x.getType(), 0));
}

LogicalResult DropoutTrainingOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                                     ArrayRef<bool> wanted,
                                     MutableArrayRef<Value> operandGrads) {
  if (wanted[0])
    operandGrads[0] =
        DropoutTrainingOp::create(builder, getLoc(), getType(), resultGrads[0],
                                  getKey(), getPositions(), getRatioAttr());
  return success();
}

} // namespace zc::train
