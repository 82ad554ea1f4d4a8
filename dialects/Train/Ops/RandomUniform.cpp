//===- RandomUniform.cpp - train.random_uniform ---------------------------===//
#include "dialects/Train/Ops/RandomSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult RandomUniformOp::verify() {
  return verifyRandomOperands(*this, getKey(), getPositions());
}

Value RandomUniformOp::buildScalar(OpBuilder &builder, Location loc,
                                   ValueRange operands) {
  Type type = getElementTypeOrSelf(getType());
  Value bits =
      buildRandomBits(builder, loc, operands[0], operands.drop_front());
  double bound = getBound().convertToDouble();
  ScalarBuilder s(builder, loc);
  Value u = buildUniform(builder, loc, bits, type);
  return s.mul(s.sub(u, s.constant(type, 0.5)), s.constant(type, 2 * bound));
}

} // namespace zc::train
