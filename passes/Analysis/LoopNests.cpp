//===- LoopNests.cpp - what one loop nest can compute ---------------------===//
#include "passes/Analysis/LoopNests.h"

#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

bool isSplatConstant(Operation *op) {
  auto constant = dyn_cast_or_null<ConstantOp>(op);
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                        : DenseElementsAttr();
  return dense && dense.isSplat();
}

bool isMovedRead(Operation *op) {
  auto slice = dyn_cast_or_null<SliceOp>(op);
  return isa_and_nonnull<BroadcastOp, TransposeOp>(op) ||
         (slice && slice.getInLoops());
}

bool isJoinOfHalves(Operation *op) {
  auto concat = dyn_cast_or_null<ConcatOp>(op);
  return concat && concat.getInLoops();
}

AffineMap halfReadMap(OpBuilder &builder, ArrayRef<int64_t> resultShape) {
  SmallVector<AffineExpr> places(
      identityMap(builder, resultShape.size()).getResults());
  places.back() = places.back() % (resultShape.back() / 2);
  return AffineMap::get(resultShape.size(), 0, places, builder.getContext());
}

static AffineMap sliceMap(OpBuilder &builder, SliceOp slice) {
  SmallVector<AffineExpr> places;
  for (auto [dim, offset] : llvm::enumerate(slice.getOffsets()))
    places.push_back(builder.getAffineDimExpr(dim) + offset);
  return AffineMap::get(places.size(), 0, places, builder.getContext());
}

AffineMap movedReadMap(OpBuilder &builder, Operation *op,
                       ArrayRef<int64_t> inputShape,
                       ArrayRef<int64_t> resultShape) {
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return broadcastMap(builder, resultShape.size(), inputShape, resultShape,
                        broadcast.getDims());
  if (auto slice = dyn_cast<SliceOp>(op))
    return sliceMap(builder, slice);
  return transposeMap(builder, cast<TransposeOp>(op).getPermutation());
}

bool isInlinable(Operation *op) {
  return isa<ElementwiseOpInterface>(op) || isMovedRead(op) ||
         isSplatConstant(op) || isJoinOfHalves(op);
}

Operation &findCalled(Block &body) {
  for (Operation &op : body.without_terminator())
    if (!isInlinable(&op))
      return op;
  return body.front();
}

bool isPlainReduction(Operation *op) { return isa<ReduceOp>(op); }

bool isSingleLoopNest(Block &body) {
  auto outputs = body.getTerminator()->getOperands();
  for (Operation &op : body.without_terminator())
    if (!isInlinable(&op))
      return false;
  return llvm::all_of(outputs, [&](Value output) {
    return output.getDefiningOp() &&
           cast<ShapedType>(output.getType()).getShape() ==
               cast<ShapedType>(outputs.front().getType()).getShape();
  });
}

bool isReadInPlace(Block &body, BlockArgument input) {
  // A value that depends on the input and is read at another place reads the
  // input at another place.
  DenseSet<Value> dependent = {input};
  for (Operation &op : body.without_terminator()) {
    bool depends = llvm::any_of(op.getOperands(), [&](Value operand) {
      return dependent.contains(operand);
    });
    if (!depends)
      continue;
    if (!isa<ElementwiseOpInterface>(op))
      return false;
    dependent.insert(op.result_begin(), op.result_end());
  }
  return true;
}

} // namespace zc
