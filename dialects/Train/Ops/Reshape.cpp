//===- Reshape.cpp - train.reshape --------------------------------------===//
#include "dialects/Train/OpMarks.h"
#include "dialects/Train/Ops/DimGroups.h"
#include "dialects/Train/Ops/OpSupport.h"

#include <numeric>

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

/// The first dim from `dim` on that is not of size 1; the rank if there is
/// none.
static int64_t skipOnes(ArrayRef<int64_t> shape, int64_t dim) {
  while (dim < static_cast<int64_t>(shape.size()) && shape[dim] == 1)
    ++dim;
  return dim;
}

ShardingRule ReshapeOp::getShardingRule() {
  ShardingRule rule = ShardingRule::whole(getOperation());
  rule.linearity[0] = Linearity::Joint;
  ArrayRef<int64_t> from =
      cast<RankedTensorType>(getInput().getType()).getShape();
  ArrayRef<int64_t> to = cast<RankedTensorType>(getType()).getShape();
  // Groups of dims hold the same elements in the same order; of each group the
  // slowest dims have a slowest part in common.
  int64_t i = skipOnes(from, 0), j = skipOnes(to, 0);
  while (i < static_cast<int64_t>(from.size()) &&
         j < static_cast<int64_t>(to.size())) {
    if (int64_t common = std::gcd(from[i], to[j]); common > 1)
      rule.operandDims[0][i] = rule.resultDims[0][j] = rule.addFactor(common);
    int64_t left = from[i++], right = to[j++];
    while (left != right)
      if (left < right)
        left *= from[i++];
      else
        right *= to[j++];
    i = skipOnes(from, i);
    j = skipOnes(to, j);
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

SmallVector<DimGroup> groupDims(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  SmallVector<DimGroup> groups;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    DimGroup group;
    int64_t a = 1, b = 1;
    auto takeFrom = [&] {
      a *= from[i];
      group.from.push_back(i++);
    };
    auto takeTo = [&] {
      b *= to[j];
      group.to.push_back(j++);
    };
    if (i < from.size())
      takeFrom();
    if (j < to.size())
      takeTo();
    while (a != b)
      a < b ? takeFrom() : takeTo();
    groups.push_back(group);
  }
  return groups;
}

/// Sets the groups' places before `permutation`; false where the dims of a
/// group were no neighbours then. Dims of size 1 are everybody's neighbours.
static bool placeGroups(MutableArrayRef<DimGroup> groups,
                        ArrayRef<int64_t> source,
                        ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> positions;
  int64_t next = 0;
  for (int64_t size : source)
    positions.push_back(size == 1 ? -1 : next++);
  for (DimGroup &group : groups) {
    int64_t last = -1;
    for (int64_t dim : group.from) {
      int64_t position = positions[permutation[dim]];
      if (position < 0)
        continue;
      if (last >= 0 && position != last + 1)
        return false;
      if (last < 0)
        group.place = position;
      last = position;
    }
  }
  return true;
}

// reshape(transpose(x)) = transpose(reshape(x)) where no dims that change
// places are merged or split: a transpose then meets the matmul or the
// transpose that takes it.
static LogicalResult sinkTransposeBelowReshape(ReshapeOp op,
                                               PatternRewriter &rewriter) {
  auto transposed = op.getInput().getDefiningOp<TransposeOp>();
  auto to = cast<RankedTensorType>(op.getType());
  if (!transposed || !transposed->hasOneUse() || to.getNumElements() == 0)
    return failure();
  auto groups = groupDims(cast<ShapedType>(transposed.getType()).getShape(),
                          to.getShape());
  auto source = cast<RankedTensorType>(transposed.getInput().getType());
  if (!placeGroups(groups, source.getShape(), transposed.getPermutation()))
    return failure();
  llvm::stable_sort(groups, [](const DimGroup &a, const DimGroup &b) {
    return a.place < b.place;
  });
  SmallVector<int64_t> shape, permutation(to.getRank());
  for (const DimGroup &group : groups)
    for (int64_t dim : group.to) {
      permutation[dim] = shape.size();
      shape.push_back(to.getDimSize(dim));
    }
  Value view = reshape(rewriter, op.getLoc(), transposed.getInput(), shape);
  replaceMarked(
      rewriter, op,
      TransposeOp::create(rewriter, op.getLoc(), to, view, permutation));
  return success();
}

void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *) {
  patterns.add(sinkTransposeBelowReshape);
}

} // namespace zc::train
