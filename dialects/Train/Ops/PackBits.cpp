//===- PackBits.cpp - train.pack_bits
//---------------------------------------===//
#include "dialects/Train/Ops/BitSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult PackBitsOp::verify() {
  return verifyPacked(*this, getInput().getType(), getResult().getType(),
                      getDim());
}

ShardingRule PackBitsOp::getShardingRule() {
  return packedShardingRule(*this, getInput().getType(), getDim());
}

double PackBitsOp::getFlops() {
  return static_cast<double>(numElements(getInput().getType()));
}

void PackBitsOp::buildLinalg(OpBuilder &builder, Location loc,
                             ValueRange inputs, ValueRange outputs) {
  int64_t dim = getDim(), bytes = shapeOf(outputs[0])[dim];
  unsigned rank = shapeOf(outputs[0]).size();
  for (PackedRows rows : packedRows(shapeOf(inputs[0])[dim])) {
    SmallVector<Value> read;
    for (int64_t bit = 0; bit < rows.bits; ++bit)
      read.push_back(buildRows(builder, loc, inputs[0], dim,
                               bit * bytes + rows.begin,
                               bit * bytes + rows.end));
    Value written =
        buildRows(builder, loc, outputs[0], dim, rows.begin, rows.end);
    SmallVector<AffineMap> maps(read.size() + 1, identityMap(builder, rank));
    buildGeneric(builder, loc, rank, maps, read, written,
                 [&](OpBuilder &nested, Location at, ValueRange e) {
                   Type byte = builder.getI8Type();
                   Value packed =
                       arith::ConstantIntOp::create(nested, at, byte, 0);
                   for (auto [bit, x] : llvm::enumerate(e.drop_back())) {
                     Value wide = arith::ExtUIOp::create(nested, at, byte, x);
                     Value shift =
                         arith::ConstantIntOp::create(nested, at, byte, bit);
                     packed = arith::OrIOp::create(
                         nested, at, packed,
                         arith::ShLIOp::create(nested, at, wide, shift));
                   }
                   return SmallVector<Value>{packed};
                 });
  }
}

} // namespace zc::train
