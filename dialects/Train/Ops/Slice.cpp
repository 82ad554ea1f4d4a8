//===- Slice.cpp - train.slice ------------------------------------------===//
#include "dialects/Train/OpMarks.h"
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult SliceOp::verify() {
  auto from = cast<RankedTensorType>(getInput().getType());
  auto to = cast<RankedTensorType>(getType());
  size_t rank = from.getRank();
  if (to.getRank() != from.getRank() || getOffsets().size() != rank ||
      getStrides().size() != rank ||
      from.getElementType() != to.getElementType())
    return emitOpError("operand, result, offsets and strides do not have the "
                       "same number of dims, or the element type changes");
  for (size_t dim = 0; dim < rank; ++dim) {
    int64_t offset = getOffsets()[dim], stride = getStrides()[dim];
    int64_t last = offset + (to.getDimSize(dim) - 1) * stride;
    if (offset < 0 || stride < 1 || last >= from.getDimSize(dim))
      return emitOpError("dim ") << dim << " of size " << from.getDimSize(dim)
                                 << " has no elements " << offset << " to "
                                 << last << " by " << stride;
    if (getInLoops() && stride != 1)
      return emitOpError("leaves gaps along dim ")
             << dim << ", and is in_loops";
  }
  return success();
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  if (auto dense = dyn_cast_or_null<DenseElementsAttr>(adaptor.getInput()))
    if (dense.isSplat())
      return dense.resizeSplat(cast<ShapedType>(getType()));
  return {};
}

ShardingRule SliceOp::getShardingRule() { return keptDimsRule(getOperation()); }

double SliceOp::getFlops() { return 0; }

void SliceOp::buildLinalg(OpBuilder &builder, Location loc, ValueRange inputs,
                          ValueRange outputs) {
  Value window = buildWindow(builder, loc, inputs[0], getOffsets(),
                             shapeOf(outputs[0]), getStrides());
  buildCopy(builder, loc, window, outputs[0]);
}

LogicalResult SliceOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                           ArrayRef<bool> wanted,
                           MutableArrayRef<Value> operandGrads) {
  SmallVector<int64_t> interior;
  for (int64_t stride : getStrides())
    interior.push_back(stride - 1);
  operandGrads[0] = PadOp::create(builder, getLoc(), getInput().getType(),
                                  resultGrads[0], getOffsets(), interior);
  return success();
}

// Slices first, so that only what is used is transposed, and each part's
// transpose can meet its reader's.
static LogicalResult sinkTransposeBelowSlice(SliceOp op,
                                             PatternRewriter &rewriter) {
  auto transposed = op.getInput().getDefiningOp<TransposeOp>();
  if (!transposed)
    return failure();
  ArrayRef<int64_t> permutation = transposed.getPermutation();
  ArrayRef<int64_t> shape = cast<ShapedType>(op.getType()).getShape();
  size_t rank = permutation.size();
  SmallVector<int64_t> offsets(rank), strides(rank), sizes(rank);
  for (auto [dim, source] : llvm::enumerate(permutation)) {
    offsets[source] = op.getOffsets()[dim];
    strides[source] = op.getStrides()[dim];
    sizes[source] = shape[dim];
  }
  auto part =
      SliceOp::create(rewriter, op.getLoc(), withShape(op.getType(), sizes),
                      transposed.getInput(), offsets, strides);
  replaceMarked(rewriter, op,
                TransposeOp::create(rewriter, op.getLoc(), op.getType(), part,
                                    permutation));
  return success();
}

void SliceOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *) {
  patterns.add(sinkTransposeBelowSlice);
}

} // namespace zc::train
