//===- Reshape.cpp - train.reshape --------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult ReshapeOp::verify() {
  auto from = cast<RankedTensorType>(getInput().getType());
  auto to = cast<RankedTensorType>(getType());
  if (from.getElementType() != to.getElementType())
    return emitOpError("changes the element type");
  if (from.getNumElements() != to.getNumElements())
    return emitOpError("operand has ")
           << from.getNumElements() << " elements, result "
           << to.getNumElements();
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  if (auto dense = dyn_cast_or_null<DenseElementsAttr>(adaptor.getInput()))
    return dense.reshape(cast<ShapedType>(getType()));
  if (auto producer = getInput().getDefiningOp<ReshapeOp>()) {
    getInputMutable().assign(producer.getInput());
    return getResult();
  }
  return {};
}

ShardingRule ReshapeOp::getShardingRule() {
  ShardingRule rule = ShardingRule::whole(getOperation());
  rule.linearity[0] = Linearity::Joint;
  auto from = cast<RankedTensorType>(getInput().getType());
  auto to = cast<RankedTensorType>(getType());
  // Dims are the same dims as long as sizes agree, from the front and from the
  // back; between them elements change places.
  int64_t common = std::min(from.getRank(), to.getRank());
  int64_t front = 0;
  while (front < common && from.getDimSize(front) == to.getDimSize(front)) {
    int factor = rule.addFactor(from.getDimSize(front));
    rule.operandDims[0][front] = rule.resultDims[0][front] = factor;
    ++front;
  }
  for (int64_t back = 1; back <= common - front; ++back) {
    int64_t i = from.getRank() - back, j = to.getRank() - back;
    if (from.getDimSize(i) != to.getDimSize(j))
      break;
    rule.operandDims[0][i] = rule.resultDims[0][j] =
        rule.addFactor(from.getDimSize(i));
  }
  return rule;
}

double ReshapeOp::getFlops() { return 0; }

// The elements in memory order, which only a contiguous buffer has.
static Value flatten(OpBuilder &builder, Location loc, Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  int64_t count = type.getNumElements();
  auto flat = MemRefType::get({count}, type.getElementType());
  return memref::ReinterpretCastOp::create(
      builder, loc, flat, buffer,
      /*offset=*/0, ArrayRef<int64_t>{count}, ArrayRef<int64_t>{1});
}

void ReshapeOp::buildLinalg(OpBuilder &builder, Location loc, ValueRange inputs,
                            ValueRange outputs) {
  buildCopy(builder, loc, flatten(builder, loc, inputs[0]),
            flatten(builder, loc, outputs[0]));
}

LogicalResult ReshapeOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                             ArrayRef<bool> wanted,
                             MutableArrayRef<Value> operandGrads) {
  auto from = cast<RankedTensorType>(getInput().getType());
  operandGrads[0] = reshape(builder, getLoc(), resultGrads[0], from.getShape());
  return success();
}

} // namespace zc::train
