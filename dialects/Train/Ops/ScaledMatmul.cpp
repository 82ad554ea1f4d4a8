//===- ScaledMatmul.cpp - train.scaled_matmul -----------------------------===//
#include "dialects/Train/Float8Ops.h"
#include "dialects/Train/Ops/MatmulSupport.h"

using namespace mlir;

namespace zc::train {

static MatmulShape shapeOfProduct(ScaledMatmulOp op) {
  return {op.getLhs(), op.getRhs(), op.getTransposeLhs(), op.getTransposeRhs()};
}

LogicalResult ScaledMatmulOp::verify() {
  for (Value scale : {getLhsScale(), getRhsScale()}) {
    auto type = cast<RankedTensorType>(scale.getType());
    if (type.getRank() != 0 || !type.getElementType().isF32())
      return emitOpError("expected scales of type tensor<f32>, found ") << type;
  }
  return verifyMatmul(*this, shapeOfProduct(*this),
                      cast<RankedTensorType>(getType()));
}

ShardingRule ScaledMatmulOp::getShardingRule() {
  ShardingRule rule = ShardingRule::whole(getOperation());
  addMatmulFactors(rule, shapeOfProduct(*this), /*lhsIndex=*/0,
                   /*splitSum=*/true);
  return rule;
}

double ScaledMatmulOp::getFlops() {
  MatmulShape shape = shapeOfProduct(*this);
  auto lhs = cast<RankedTensorType>(getLhs().getType());
  double sum = double(shape.extents()[1]);
  if (shape.isOfRows())
    sum = double(lhs.getShape().back());
  else if (shape.sumsRows(cast<RankedTensorType>(getType()).getRank()))
    sum = double(lhs.getNumElements()) / double(lhs.getShape().back());
  return 2.0 * numElements(getType()) * sum;
}

void ScaledMatmulOp::buildLinalg(OpBuilder &builder, Location loc,
                                 ValueRange inputs, ValueRange outputs) {
  buildFill(builder, loc, outputs[0], 0);
  buildMatmulProduct(builder, loc, inputs.take_front(2), outputs[0],
                     getTransposeLhs(), getTransposeRhs());
  unsigned rank = shapeOf(outputs[0]).size();
  AffineMap scalar = AffineMap::get(rank, 0, builder.getContext());
  buildGeneric(builder, loc, rank, {scalar, scalar, identityMap(builder, rank)},
               inputs.drop_front(2), outputs,
               [](OpBuilder &nested, Location at, ValueRange e) {
                 ScalarBuilder s(nested, at);
                 return SmallVector<Value>{s.mul(e[2], s.mul(e[0], e[1]))};
               });
}

bool ScaledMatmulOp::accumulates(unsigned) { return true; }

} // namespace zc::train
