//===- Constant.cpp - train.constant ------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

OpFoldResult ConstantOp::fold(FoldAdaptor adaptor) { return getValue(); }

ShardingRule ConstantOp::getShardingRule() {
  ShardingRule rule = ShardingRule::whole(getOperation());
  auto dense = dyn_cast<DenseElementsAttr>(getValue());
  if (!dense || !dense.isSplat())
    return rule;
  // Every part of a splat is a splat.
  for (auto [dim, size] : llvm::enumerate(getType().getShape()))
    rule.resultDims[0][dim] = rule.addFactor(size);
  return rule;
}

void ConstantOp::setPartTypes(TypeRange types) {
  auto type = cast<RankedTensorType>(types[0]);
  if (type == getType())
    return;
  auto dense = cast<DenseElementsAttr>(getValue());
  setValueAttr(DenseElementsAttr::get(type, dense.getSplatValue<Attribute>()));
  getResult().setType(type);
}

double ConstantOp::getFlops() { return 0; }

void ConstantOp::buildLinalg(OpBuilder &builder, Location loc,
                             ValueRange inputs, ValueRange outputs) {
  auto dense = cast<DenseElementsAttr>(getValue());
  if (dense.isSplat()) {
    Value scalar =
        scalarConstant(builder, loc, dense.getSplatValue<Attribute>());
    linalg::FillOp::create(builder, loc, scalar, outputs[0]);
    return;
  }
  // Data that varies reaches programs as a state; only small tensors are
  // written element by element.
  SmallVector<int64_t> index(getType().getRank(), 0);
  for (Attribute element : dense.getValues<Attribute>()) {
    SmallVector<Value> indices;
    for (int64_t i : index)
      indices.push_back(arith::ConstantIndexOp::create(builder, loc, i));
    memref::StoreOp::create(builder, loc, scalarConstant(builder, loc, element),
                            outputs[0], indices);
    for (int64_t dim = getType().getRank() - 1; dim >= 0; --dim) {
      if (++index[dim] < getType().getDimSize(dim))
        break;
      index[dim] = 0;
    }
  }
}

} // namespace zc::train
