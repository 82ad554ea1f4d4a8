//===- Pad.cpp - train.pad ----------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult PadOp::verify() {
  auto from = cast<RankedTensorType>(getInput().getType());
  auto to = cast<RankedTensorType>(getType());
  size_t rank = from.getRank();
  if (to.getRank() != from.getRank() || getLow().size() != rank ||
      getInterior().size() != rank ||
      from.getElementType() != to.getElementType())
    return emitOpError("operand, result, low and interior do not have the same "
                       "number of dims, or the element type changes");
  for (size_t dim = 0; dim < rank; ++dim) {
    int64_t low = getLow()[dim], step = getInterior()[dim] + 1;
    int64_t last = low + (from.getDimSize(dim) - 1) * step;
    if (low < 0 || step < 1 || last >= to.getDimSize(dim))
      return emitOpError("dim ") << dim << " of size " << to.getDimSize(dim)
                                 << " has no place for elements " << low
                                 << " to " << last << " by " << step;
  }
  return success();
}

ShardingRule PadOp::getShardingRule() {
  ShardingRule rule = ShardingRule::whole(getOperation());
  auto from = cast<RankedTensorType>(getInput().getType());
  auto to = cast<RankedTensorType>(getType());
  for (int64_t dim = 0; dim < to.getRank(); ++dim)
    if (from.getDimSize(dim) == to.getDimSize(dim))
      rule.operandDims[0][dim] = rule.resultDims[0][dim] =
          rule.addFactor(to.getDimSize(dim));
  rule.linearity[0] = Linearity::Joint;
  return rule;
}

double PadOp::getFlops() { return 0; }

void PadOp::buildLinalg(OpBuilder &builder, Location loc, ValueRange inputs,
                        ValueRange outputs) {
  buildFill(builder, loc, outputs[0], 0);
  SmallVector<int64_t> strides;
  for (int64_t interior : getInterior())
    strides.push_back(interior + 1);
  Value window = buildWindow(builder, loc, outputs[0], getLow(),
                             shapeOf(inputs[0]), strides);
  buildCopy(builder, loc, inputs[0], window);
}

LogicalResult PadOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                         ArrayRef<bool> wanted,
                         MutableArrayRef<Value> operandGrads) {
  SmallVector<int64_t> strides;
  for (int64_t interior : getInterior())
    strides.push_back(interior + 1);
  operandGrads[0] = SliceOp::create(builder, getLoc(), getInput().getType(),
                                    resultGrads[0], getLow(), strides);
  return success();
}

} // namespace zc::train
