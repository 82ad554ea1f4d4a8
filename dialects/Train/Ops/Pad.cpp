//===- Pad.cpp - train.pad ----------------------------------------------===//
#include "dialects/Train/OpMarks.h"
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

ShardingRule PadOp::getShardingRule() { return keptDimsRule(getOperation()); }

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

/// The only dim in which two pads of one type differ, or -1.
static int64_t differingDim(PadOp a, PadOp b) {
  ArrayRef<int64_t> first = cast<ShapedType>(a.getInput().getType()).getShape();
  ArrayRef<int64_t> second =
      cast<ShapedType>(b.getInput().getType()).getShape();
  int64_t differing = -1;
  for (int64_t dim = 0; dim < static_cast<int64_t>(first.size()); ++dim) {
    if (a.getInterior()[dim] != 0 || b.getInterior()[dim] != 0)
      return -1;
    if (a.getLow()[dim] == b.getLow()[dim] && first[dim] == second[dim])
      continue;
    if (differing >= 0)
      return -1;
    differing = dim;
  }
  return differing;
}

// The gradients of neighbouring slices: put side by side, not added up.
static LogicalResult joinNeighbours(AddOp op, PatternRewriter &rewriter) {
  auto before = op.getLhs().getDefiningOp<PadOp>();
  auto after = op.getRhs().getDefiningOp<PadOp>();
  if (!before || !after || !before->hasOneUse() || !after->hasOneUse())
    return failure();
  int64_t dim = differingDim(before, after);
  if (dim < 0)
    return failure();
  if (before.getLow()[dim] > after.getLow()[dim])
    std::swap(before, after);
  auto type = cast<RankedTensorType>(before.getInput().getType());
  int64_t size = type.getDimSize(dim);
  if (before.getLow()[dim] + size != after.getLow()[dim])
    return failure();
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] += cast<ShapedType>(after.getInput().getType()).getDimSize(dim);
  Value parts[] = {before.getInput(), after.getInput()};
  Operation *joined = ConcatOp::create(rewriter, op.getLoc(),
                                       withShape(type, shape), parts, dim);
  if (joined->getResult(0).getType() != op.getType())
    joined =
        PadOp::create(rewriter, op.getLoc(), op.getType(), joined->getResult(0),
                      before.getLow(), before.getInterior());
  replaceMarked(rewriter, op, joined);
  return success();
}

void PadOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                        MLIRContext *) {
  patterns.add(joinNeighbours);
}

} // namespace zc::train
