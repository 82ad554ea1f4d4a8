//===- Softmax.cpp - train.softmax ----------------------------------------===//
#include "dialects/Train/Ops/RowSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult SoftmaxOp::verify() {
  return verifyDim(*this, "dim", getDim(), getInput().getType().getRank());
}

LogicalResult SoftmaxOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                             ArrayRef<bool> wanted,
                             MutableArrayRef<Value> operandGrads) {
  // y (grad - sum(grad y))
  Location loc = getLoc();
  Value grad = resultGrads[0];
  int64_t dim = getDim();
  RankedTensorType type = getResult().getType();
  grad = widen(builder, loc, grad);
  Value result = widen(builder, loc, getResult());
  Value product = MulOp::create(builder, loc, grad, result);
  Value sum = broadcast(builder, loc, reduceSum(builder, loc, product, dim),
                        type.getShape(), otherDims(type.getRank(), dim));
  Value centred = SubOp::create(builder, loc, grad, sum);
  operandGrads[0] = MulOp::create(builder, loc, result, centred);
  return success();
}

ShardingRule SoftmaxOp::getShardingRule() {
  ShardingRule rule =
      ShardingRule::elementwise(getOperation(), Linearity::None);
  rule.operandDims[0][getDim()] = ShardingRule::kWhole;
  rule.resultDims[0][getDim()] = ShardingRule::kWhole;
  return rule;
}

double SoftmaxOp::getFlops() {
  // max, subtract, exp, add, multiply
  return 5.0 * numElements(getResult().getType());
}

bool SoftmaxOp::mayShareBuffer(unsigned operand, unsigned result) {
  return true;
}

void SoftmaxOp::buildLinalg(OpBuilder &builder, Location loc, ValueRange inputs,
                            ValueRange outputs) {
  ArrayRef<int64_t> shape = shapeOf(inputs[0]);
  SmallVector<int64_t> rowDims =
      otherDims(shape.size(), static_cast<int64_t>(getDim()));
  Value scratch = buildTemporary(builder, loc, {}, elementOf(inputs[0]));
  buildLoops(builder, loc, pick(shape, rowDims), [&](Indices row) {
    Value x = buildSlice(builder, loc, inputs[0], rowDims, row);
    Value y = buildSlice(builder, loc, outputs[0], rowDims, row);
    Value sum = buildRowExp(builder, loc, x, y, scratch).second;
    buildPointwise(builder, loc, ValueRange(), y,
                   [&](OpBuilder &nested, Location at, ValueRange e) {
                     ScalarBuilder s(nested, at);
                     Value one = s.constant(e[0].getType(), 1);
                     return SmallVector<Value>{s.mul(e[0], s.div(one, sum))};
                   });
  });
}

bool SoftmaxOp::accumulates(unsigned) { return true; }

} // namespace zc::train
