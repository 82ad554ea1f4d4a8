//===- MatmulAdd.cpp - train.matmul_add -----------------------------------===//
#include "dialects/Train/OpMarks.h"
#include "dialects/Train/Ops/MatmulSupport.h"

using namespace mlir;

namespace zc::train {

static MatmulShape shapeOfMatmul(MatmulAddOp op) {
  return {op.getLhs(), op.getRhs(), op.getTransposeLhs(), op.getTransposeRhs()};
}

LogicalResult MatmulAddOp::verify() {
  return verifyMatmul(*this, shapeOfMatmul(*this),
                      cast<RankedTensorType>(getType()));
}

ShardingRule getMatmulAddRule(MatmulAddOp op, bool splitSum) {
  ShardingRule rule = ShardingRule::whole(op);
  addMatmulFactors(rule, shapeOfMatmul(op), /*lhsIndex=*/1, splitSum);
  rule.operandDims[0] = rule.resultDims[0];
  return rule;
}

ShardingRule MatmulAddOp::getShardingRule() {
  // Two parts of the sum would both add `init`: the summed dim stays whole.
  return getMatmulAddRule(*this, /*splitSum=*/false);
}

double MatmulAddOp::getFlops() {
  return 2.0 * numElements(getType()) * shapeOfMatmul(*this).extents()[1];
}

bool MatmulAddOp::mayShareBuffer(unsigned operand, unsigned result) {
  return operand == 0;
}

void MatmulAddOp::buildLinalg(OpBuilder &builder, Location loc,
                              ValueRange inputs, ValueRange outputs) {
  if (inputs[0] != outputs[0])
    buildCopy(builder, loc, inputs[0], outputs[0]);
  buildMatmulProduct(builder, loc, inputs.drop_front(), outputs[0],
                     getTransposeLhs(), getTransposeRhs());
}

Value addInPlace(OpBuilder &builder, Location loc, Value sum, Value term) {
  auto isFree = [](Value value) {
    return value.use_empty() || value.hasOneUse();
  };
  // The library accumulates 16-bit factors in float32 in any case.
  auto widened = term.getDefiningOp<ConvertOp>();
  Value made = widened ? Value(widened.getInput()) : term;
  auto product = made.getDefiningOp<MatmulOp>();
  if (!product || !isFree(term) || !isFree(made) ||
      withComputeType(made.getType()) != sum.getType())
    return AddOp::create(builder, loc, sum, term);
  auto added = MatmulAddOp::create(
      builder, product.getLoc(), sum.getType(), sum, product.getLhs(),
      product.getRhs(), product.getTransposeLhs(), product.getTransposeRhs());
  copyMarks(product, added);
  return added;
}

bool MatmulAddOp::accumulates(unsigned) { return true; }

} // namespace zc::train
