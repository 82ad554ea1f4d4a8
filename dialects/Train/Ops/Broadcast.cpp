//===- Broadcast.cpp - train.broadcast ----------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult BroadcastOp::verify() {
  auto from = cast<RankedTensorType>(getInput().getType());
  auto to = cast<RankedTensorType>(getType());
  if (from.getElementType() != to.getElementType())
    return emitOpError("changes the element type");
  if (static_cast<int64_t>(getDims().size()) != from.getRank())
    return emitOpError("dims has ") << getDims().size() << " entries, operand "
                                    << from.getRank() << " dims";
  int64_t previous = -1;
  for (auto [dim, target] : llvm::enumerate(getDims())) {
    if (target <= previous || target >= to.getRank())
      return emitOpError("dims must increase and be less than ")
             << to.getRank();
    previous = target;
    int64_t size = from.getDimSize(dim);
    if (size != 1 && size != to.getDimSize(target))
      return emitOpError("operand dim ")
             << dim << " is " << size << ", result dim " << target << " is "
             << to.getDimSize(target);
  }
  return success();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  auto dense = dyn_cast_or_null<DenseElementsAttr>(adaptor.getInput());
  if (dense && dense.isSplat())
    return dense.resizeSplat(cast<ShapedType>(getType()));
  return {};
}

ShardingRule BroadcastOp::getShardingRule() {
  ShardingRule rule = ShardingRule::whole(getOperation());
  auto from = cast<RankedTensorType>(getInput().getType());
  auto to = cast<RankedTensorType>(getType());
  for (int64_t dim = 0; dim < to.getRank(); ++dim)
    rule.resultDims[0][dim] = rule.addFactor(to.getDimSize(dim));
  for (auto [dim, target] : llvm::enumerate(getDims()))
    if (from.getDimSize(dim) == to.getDimSize(target))
      rule.operandDims[0][dim] = rule.resultDims[0][target];
  rule.linearity[0] = Linearity::Joint;
  return rule;
}

double BroadcastOp::getFlops() { return 0; }

void BroadcastOp::buildLinalg(OpBuilder &builder, Location loc,
                              ValueRange inputs, ValueRange outputs) {
  unsigned rank = shapeOf(outputs[0]).size();
  auto shape = shapeOf(inputs[0]);
  AffineMap map =
      broadcastMap(builder, rank, shape, shapeOf(outputs[0]), getDims());
  buildGeneric(builder, loc, rank, {map, identityMap(builder, rank)}, inputs,
               outputs, [](OpBuilder &, Location, ValueRange elements) {
                 return SmallVector<Value>{elements[0]};
               });
}

LogicalResult BroadcastOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                               ArrayRef<bool> wanted,
                               MutableArrayRef<Value> operandGrads) {
  auto from = cast<RankedTensorType>(getInput().getType());
  auto to = cast<RankedTensorType>(getType());
  // Sum over every dim that was repeated.
  SmallVector<int64_t> kept;
  for (auto [dim, target] : llvm::enumerate(getDims()))
    if (from.getDimSize(dim) == to.getDimSize(target))
      kept.push_back(target);
  Value sum = reduceSum(builder, getLoc(), resultGrads[0],
                        otherDims(to.getRank(), kept));
  operandGrads[0] = reshape(builder, getLoc(), sum, from.getShape());
  return success();
}

} // namespace zc::train
