//===- RandomNormal.cpp - train.random_normal -----------------------------===//
#include "dialects/Train/Ops/RandomSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult RandomNormalOp::verify() {
  return verifyRandomOperands(*this, getKey(), getPositions());
}

// Box & Muller (1958), the cosine's half alone: every element is drawn by
// itself.
Value RandomNormalOp::buildScalar(OpBuilder &builder, Location loc,
                                  ValueRange operands) {
  Type type = getElementTypeOrSelf(getType());
  ValueRange positions = operands.drop_front();
  BitBuilder wide(builder, loc, builder.getI64Type());
  Value other = wide.xorBits(operands[0], wide.constant(0x9e3779b97f4a7c15));
  Value radius =
      buildUniform(builder, loc,
                   buildRandomBits(builder, loc, operands[0], positions), type);
  Value angle = buildUniform(
      builder, loc, buildRandomBits(builder, loc, other, positions), type);
  ScalarBuilder s(builder, loc);
  // Half a step up: never the logarithm of 0.
  Value positive = s.add(radius, s.constant(type, 0x1p-25));
  Value length = s.sqrt(s.mul(s.log(positive), s.constant(type, -2)));
  constexpr double kTurn = 6.283185307179586;
  Value cosine =
      math::CosOp::create(builder, loc, s.mul(angle, s.constant(type, kTurn)));
  double std = getStd().convertToDouble();
  return s.mul(s.mul(length, cosine), s.constant(type, std));
}

} // namespace zc::train
