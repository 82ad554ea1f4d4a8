//===- Transpose.cpp - train.transpose ----------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult TransposeOp::verify() {
  auto from = cast<RankedTensorType>(getInput().getType());
  auto to = cast<RankedTensorType>(getType());
  if (from.getElementType() != to.getElementType() ||
      from.getRank() != to.getRank())
    return emitOpError("changes the element type or the number of dims");
  if (static_cast<int64_t>(getPermutation().size()) != from.getRank())
    return emitOpError("permutation has ")
           << getPermutation().size() << " entries, operand " << from.getRank()
           << " dims";
  SmallVector<bool> seen(from.getRank(), false);
  for (auto [dim, source] : llvm::enumerate(getPermutation())) {
    if (source < 0 || source >= from.getRank() || seen[source])
      return emitOpError("permutation is none: ") << getPermutation();
    seen[source] = true;
    if (to.getDimSize(dim) != from.getDimSize(source))
      return emitOpError("result dim ")
             << dim << " is " << to.getDimSize(dim) << ", operand dim "
             << source << " is " << from.getDimSize(source);
  }
  return success();
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  ArrayRef<int64_t> permutation = getPermutation();
  if (llvm::is_sorted(permutation))
    return getInput();
  if (auto dense = dyn_cast_or_null<DenseElementsAttr>(adaptor.getInput()))
    if (dense.isSplat())
      return dense.resizeSplat(cast<ShapedType>(getType()));
  if (auto producer = getInput().getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> composed;
    for (int64_t dim : permutation)
      composed.push_back(producer.getPermutation()[dim]);
    getInputMutable().assign(producer.getInput());
    setPermutation(composed);
    return getResult();
  }
  return {};
}

ShardingRule TransposeOp::getShardingRule() {
  ShardingRule rule = ShardingRule::whole(getOperation());
  auto to = cast<RankedTensorType>(getType());
  for (auto [dim, source] : llvm::enumerate(getPermutation()))
    rule.operandDims[0][source] = rule.resultDims[0][dim] =
        rule.addFactor(to.getDimSize(dim));
  rule.linearity[0] = Linearity::Joint;
  return rule;
}

double TransposeOp::getFlops() { return 0; }

void TransposeOp::buildLinalg(OpBuilder &builder, Location loc,
                              ValueRange inputs, ValueRange outputs) {
  unsigned rank = shapeOf(outputs[0]).size();
  AffineMap map = transposeMap(builder, getPermutation());
  buildGeneric(builder, loc, rank, {map, identityMap(builder, rank)}, inputs,
               outputs, [](OpBuilder &, Location, ValueRange elements) {
                 return SmallVector<Value>{elements[0]};
               });
}

LogicalResult TransposeOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                               ArrayRef<bool> wanted,
                               MutableArrayRef<Value> operandGrads) {
  SmallVector<int64_t> inverse(getPermutation().size());
  for (auto [dim, source] : llvm::enumerate(getPermutation()))
    inverse[source] = dim;
  operandGrads[0] = transpose(builder, getLoc(), resultGrads[0], inverse);
  return success();
}

} // namespace zc::train
