//===- UnpackBits.cpp - train.unpack_bits ---------------------------------===//
#include "dialects/Train/Ops/BitSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult UnpackBitsOp::verify() {
  return verifyPacked(*this, getResult().getType(), getInput().getType(),
                      getDim());
}

ShardingRule UnpackBitsOp::getShardingRule() {
  return packedShardingRule(*this, getResult().getType(), getDim());
}

double UnpackBitsOp::getFlops() {
  return static_cast<double>(numElements(getResult().getType()));
}

void UnpackBitsOp::buildLinalg(OpBuilder &builder, Location loc,
                               ValueRange inputs, ValueRange outputs) {
  int64_t dim = getDim(), size = shapeOf(outputs[0])[dim];
  int64_t bytes = shapeOf(inputs[0])[dim];
  for (int64_t bit = 0; bit * bytes < size; ++bit) {
    int64_t count = std::min(bytes, size - bit * bytes);
    Value read = buildRows(builder, loc, inputs[0], dim, 0, count);
    Value written = buildRows(builder, loc, outputs[0], dim, bit * bytes,
                              bit * bytes + count);
    buildPointwise(builder, loc, read, written,
                   [&](OpBuilder &nested, Location at, ValueRange e) {
                     Type byte = e[0].getType();
                     Value mask = arith::ConstantIntOp::create(
                         nested, at, byte, static_cast<int8_t>(1 << bit));
                     Value zero =
                         arith::ConstantIntOp::create(nested, at, byte, 0);
                     Value set = arith::AndIOp::create(nested, at, e[0], mask);
                     return SmallVector<Value>{arith::CmpIOp::create(
                         nested, at, arith::CmpIPredicate::ne, set, zero)};
                   });
  }
}

} // namespace zc::train
