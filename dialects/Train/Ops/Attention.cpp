//===- Attention.cpp - train.attention ------------------------------------===//
#include "dialects/Train/Ops/AttentionSupport.h"

#include <limits>

using namespace mlir;

namespace zc::train {

LogicalResult AttentionOp::verify() {
  RankedTensorType type = getQuery().getType();
  if (failed(verifyAttention(*this, type, getKey().getType(),
                             getValue().getType(), getCausal(), getMask())) ||
      failed(verifyType(*this, "result", getResult().getType(),
                        attentionResultType(type, getValue().getType()))))
    return failure();
  return verifyTypeOrPrecision(*this, "log_sum_exp", getLogSumExp().getType(),
                               logSumExpType(type));
}

namespace {

/// The gradients that reach the operands from each result.
class Gradients {
public:
  Gradients(AttentionOp op, OpBuilder &builder)
      : op(op), builder(builder), loc(op.getLoc()),
        type(op.getQuery().getType()) {}

  SmallVector<Value> ofResult(Value grad) {
    return build(op.getValue(), op.getResult(), grad);
  }

  /// With p = softmax(scale q k^T) they are scale p k and scale p^T q, row by
  /// row times `grad`: attention with the keys as values, and the gradient of
  /// those values.
  SmallVector<Value> ofLogSumExp(Value grad) {
    Value perToken =
        narrow(builder, loc, transpose(builder, loc, grad, {0, 2, 1}), type);
    Value spread =
        broadcast(builder, loc, perToken, type.getShape(), {0, 1, 2});
    Value factor = splat(builder, loc, type, op.getScale().convertToDouble());
    Value weight = MulOp::create(builder, loc, spread, factor);
    auto mean =
        AttentionOp::create(builder, loc, type, op.getLogSumExp().getType(),
                            op.getQuery(), op.getKey(), op.getKey(),
                            op.getMask(), op.getScaleAttr(), op.getCausalAttr(),
                            /*tokens=*/StringAttr());
    Value weighted = MulOp::create(builder, loc, op.getQuery(), weight);
    return {MulOp::create(builder, loc, mean.getResult(), weight),
            build(op.getKey(), mean.getResult(), weighted)[2], Value()};
  }

private:
  SmallVector<Value> build(Value value, Value result, Value grad) {
    auto gradOp = AttentionGradOp::create(
        builder, loc, type, op.getKey().getType(), value.getType(),
        op.getQuery(), op.getKey(), value, result, op.getLogSumExp(), grad,
        op.getMask(), op.getScaleAttr(), op.getCausalAttr(),
        /*tokens=*/StringAttr());
    return gradOp->getResults();
  }

  AttentionOp op;
  OpBuilder &builder;
  Location loc;
  RankedTensorType type;
};

} // namespace

LogicalResult AttentionOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                               ArrayRef<bool> wanted,
                               MutableArrayRef<Value> operandGrads) {
  if (getMask() && wanted[3])
    return emitOpError("has a mask that depends on parameters; its gradient "
                       "is not known");
  Gradients gradients(*this, builder);
  auto add = [&](ArrayRef<Value> terms) {
    for (auto [index, term] : llvm::enumerate(terms)) {
      Value &sum = operandGrads[index];
      if (wanted[index] && term)
        sum = sum ? AddOp::create(builder, getLoc(), sum, term) : term;
    }
  };
  if (resultGrads[0])
    add(gradients.ofResult(resultGrads[0]));
  if (resultGrads[1])
    add(gradients.ofLogSumExp(resultGrads[1]));
  return success();
}

/// Whether the largest score is above minus infinity; if not, all become 0.
static Value buildSeen(OpBuilder &builder, Location loc, Value scores,
                       Value largest) {
  Type type = largest.getType();
  Value lowest = ScalarBuilder(builder, loc)
                     .constant(type, -std::numeric_limits<double>::infinity());
  Value seen = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE,
                                     largest, lowest);
  buildPointwise(builder, loc, ValueRange(), scores,
                 [&](OpBuilder &nested, Location at, ValueRange e) {
                   ScalarBuilder s(nested, at);
                   return SmallVector<Value>{
                       s.select(seen, e[0], s.constant(type, 0))};
                 });
  return seen;
}

ShardingRule AttentionOp::getShardingRule() {
  return attentionShardingRule(*this, /*mask=*/3);
}

double AttentionOp::getFlops() {
  const bool isPartial = getCausal() || saysLastKeys(getMask());
  return attentionProductFlops(getQuery().getType(), getKey().getType(),
                               isPartial) +
         attentionProductFlops(getResult().getType(), getKey().getType(),
                               isPartial);
}

void AttentionOp::buildLinalg(OpBuilder &builder, Location loc,
                              ValueRange inputs, ValueRange outputs) {
  ArrayRef<int64_t> shape = shapeOf(inputs[0]);
  Type element = elementOf(inputs[0]);
  Value scores = buildTemporary(builder, loc, {shapeOf(inputs[1])[1]}, element);
  Value scratch = buildTemporary(builder, loc, {}, element);
  buildLoops(builder, loc, pick(shape, {0, 1, 2}), [&](Indices at) {
    Value query = AttentionRow::ofQuery(builder, loc, inputs[0], at);
    Value keys = AttentionRow::ofKeys(builder, loc, inputs[1], at);
    Value values = AttentionRow::ofKeys(builder, loc, inputs[2], at);
    Value result = AttentionRow::ofQuery(builder, loc, outputs[0], at);
    buildRowProducts(builder, loc, keys, query, scores);
    Value mask = inputs.size() > 3 ? inputs[3] : Value();
    OpFoldResult last = buildLastKey(builder, loc, getCausal(), mask, at);
    buildMaskedScale(builder, loc, scores, getScale().convertToDouble(), last);
    ScalarBuilder s(builder, loc);
    Value seen, hidden;
    if (mask && !saysLastKeys(mask)) {
      Value most = buildMaskedScores(
          builder, loc, AttentionRow::ofMask(builder, loc, mask, at), scores,
          scratch);
      hidden = buildHidden(builder, loc, most, most);
      seen = buildSeen(builder, loc, scores, most);
    }
    auto [rowLargest, rowSum] =
        buildRowExp(builder, loc, scores, scores, scratch);
    Value largest = rowLargest, sum = rowSum;
    Value logSum = s.add(largest, s.log(sum));
    if (seen) { // of what is hidden, no part
      logSum = buildHiddenLog(builder, loc, logSum, hidden);
      double most = std::numeric_limits<float>::max();
      Value infinite =
          s.constant(element, std::numeric_limits<double>::infinity());
      logSum = s.select(seen, logSum, s.constant(element, most));
      sum = s.select(seen, sum, infinite);
    }
    if (!getLogSumExp().use_empty()) // else memory for all queries, for nothing
      buildStore(builder, loc, logSum, outputs[1], {at[0], at[2], at[1]});
    buildFill(builder, loc, result, 0);
    buildWeightedRows(builder, loc, scores, values, result);
    buildPointwise(builder, loc, ValueRange(), result,
                   [&](OpBuilder &nested, Location place, ValueRange e) {
                     ScalarBuilder inner(nested, place);
                     return SmallVector<Value>{inner.div(e[0], sum)};
                   });
  });
}

Precision AttentionOp::getPrecision() { return Precision::Narrow; }

bool AttentionOp::isStatistic(unsigned result) { return result == 1; }

bool AttentionOp::accumulates(unsigned result) { return result == 0; }

} // namespace zc::train
