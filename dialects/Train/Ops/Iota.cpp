//===- Iota.cpp - train.iota ----------------------------------------------===//
#include "dialects/Train/Ops/LoopSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult IotaOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if (type.getRank() == 1 && type.getElementType().isInteger(64))
    return success();
  return emitOpError("expected a vector of i64, found ") << type;
}

// A part of it would begin elsewhere: it stays whole.
ShardingRule IotaOp::getShardingRule() {
  return ShardingRule::whole(getOperation());
}

double IotaOp::getFlops() { return 0; }

void IotaOp::buildLinalg(OpBuilder &builder, Location loc, ValueRange inputs,
                         ValueRange outputs) {
  buildLoops(builder, loc, shapeOf(outputs[0]), [&](Indices at) {
    Value index = arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                             toIndexValue(builder, loc, at[0]));
    Value stride = arith::ConstantOp::create(
        builder, loc, builder.getI64IntegerAttr(getStride()));
    buildStore(builder, loc, arith::MulIOp::create(builder, loc, index, stride),
               outputs[0], at);
  });
}

} // namespace zc::train
