//===- RandomKey.cpp - train.random_key -----------------------------------===//
#include "dialects/Train/Ops/RandomSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult RandomKeyOp::verify() { return verifyKeyType(*this, getKey()); }

Value RandomKeyOp::buildScalar(OpBuilder &builder, Location loc,
                               ValueRange operands) {
  BitBuilder b(builder, loc, builder.getI64Type());
  Value step = b.mul(operands[1], 0x9e3779b97f4a7c15);
  Value z = b.add(operands[0], step);
  z = b.mul(b.mixRight(z, 30), 0xbf58476d1ce4e5b9);
  z = b.mul(b.mixRight(z, 27), 0x94d049bb133111eb);
  return b.mixRight(z, 31);
}

} // namespace zc::train
