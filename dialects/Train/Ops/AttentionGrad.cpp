//===- AttentionGrad.cpp - train.attention_grad ---------------------------===//
#include "dialects/Train/Ops/AttentionSupport.h"

#include <limits>
#include <tuple>

using namespace mlir;

namespace zc::train {

LogicalResult AttentionGradOp::verify() {
  RankedTensorType type = getQuery().getType();
  RankedTensorType key = getKey().getType();
  RankedTensorType value = getValue().getType();
  if (failed(verifyAttention(*this, type, key, value, getCausal(), getMask())))
    return failure();
  RankedTensorType result = attentionResultType(type, value);
  if (failed(verifyType(*this, "result", getResult().getType(), result)) ||
      failed(verifyTypeOrPrecision(*this, "log_sum_exp",
                                   getLogSumExp().getType(),
                                   logSumExpType(type))) ||
      failed(verifyType(*this, "grad", getGrad().getType(), result)) ||
      failed(verifyType(*this, "query_grad", getQueryGrad().getType(), type)) ||
      failed(verifyType(*this, "key_grad", getKeyGrad().getType(), key)))
    return failure();
  return verifyType(*this, "value_grad", getValueGrad().getType(), value);
}

ShardingRule AttentionGradOp::getShardingRule() {
  return attentionShardingRule(*this, /*mask=*/6);
}

// Scores, the gradients of queries and keys; those of weights and of values.
double AttentionGradOp::getFlops() {
  const bool isPartial = getCausal() || saysLastKeys(getMask());
  return 3 * attentionProductFlops(getQuery().getType(), getKey().getType(),
                                   isPartial) +
         2 * attentionProductFlops(getResult().getType(), getKey().getType(),
                                   isPartial);
}

namespace {

/// sum row * other, of two rows.
Value buildDot(OpBuilder &builder, Location loc, Value row, Value other,
               Value scratch) {
  Value read[] = {row, other};
  return buildReduction(builder, loc, read, scratch, 0,
                        [](OpBuilder &nested, Location at, ValueRange e) {
                          ScalarBuilder s(nested, at);
                          return SmallVector<Value>{
                              s.add(e[2], s.mul(e[0], e[1]))};
                        })[0];
}

/// rows[i] += weights[i] row
void buildOuterSum(OpBuilder &builder, Location loc, Value weights, Value row,
                   Value rows) {
  buildGeneric(builder, loc, 2,
               {identityMap(builder, 2, {1}), identityMap(builder, 2, {0}),
                identityMap(builder, 2)},
               {weights, row}, rows,
               [](OpBuilder &nested, Location at, ValueRange e) {
                 ScalarBuilder s(nested, at);
                 return SmallVector<Value>{s.add(e[2], s.mul(e[0], e[1]))};
               });
}

} // namespace

// With p = softmax(scale q k^T) and d = scale p (grad v^T - grad . result):
// the gradients are d k, d^T q and p^T grad.
void AttentionGradOp::buildLinalg(OpBuilder &builder, Location loc,
                                  ValueRange inputs, ValueRange outputs) {
  ArrayRef<int64_t> shape = shapeOf(inputs[0]);
  Type element = elementOf(inputs[0]);
  int64_t count = shapeOf(inputs[1])[1];
  double scale = getScale().convertToDouble();
  Value weights = buildTemporary(builder, loc, {count}, element);
  Value slopes = buildTemporary(builder, loc, {count}, element);
  Value scratch = buildTemporary(builder, loc, {}, element);
  Value mask = inputs.size() > 6 ? inputs[6] : Value();
  const bool isAdded = mask && !saysLastKeys(mask);
  for (Value output : outputs)
    buildFill(builder, loc, output, 0);
  buildLoops(builder, loc, pick(shape, {0, 1, 2}), [&](Indices at) {
    auto ofQuery = [&](Value buffer) {
      return AttentionRow::ofQuery(builder, loc, buffer, at);
    };
    auto ofKeys = [&](Value buffer) {
      return AttentionRow::ofKeys(builder, loc, buffer, at);
    };
    Value query = ofQuery(inputs[0]), grad = ofQuery(inputs[5]);
    buildRowProducts(builder, loc, ofKeys(inputs[1]), query, weights);
    buildMaskedScale(builder, loc, weights, scale,
                     buildLastKey(builder, loc, getCausal(), mask, at));
    Value sum = buildLoad(builder, loc, inputs[4], {at[0], at[2], at[1]});
    if (isAdded)
      buildMaskedScores(builder, loc,
                        AttentionRow::ofMask(builder, loc, mask, at), weights,
                        scratch, sum);
    buildRowProducts(builder, loc, ofKeys(inputs[2]), grad, slopes);
    Value shift = buildDot(builder, loc, grad, ofQuery(inputs[3]), scratch);
    // Where the mask hides all keys by finite numbers.
    Value hidden, largest, total;
    if (isAdded) {
      std::tie(largest, total) =
          buildRowExp(builder, loc, weights, Value(), scratch);
      hidden = buildHidden(builder, loc, sum, largest);
    }
    Value rows[] = {weights, slopes};
    buildPointwise(
        builder, loc, ValueRange(), rows,
        [&](OpBuilder &nested, Location place, ValueRange e) {
          ScalarBuilder s(nested, place);
          Value p = s.exp(s.sub(e[0], sum));
          if (isAdded)
            p = s.select(hidden, s.div(s.exp(s.sub(e[0], largest)), total), p);
          Value slope = s.mul(p, s.sub(e[1], shift));
          Value factor = s.constant(p.getType(), scale);
          return SmallVector<Value>{p, s.mul(slope, factor)};
        });
    buildWeightedRows(builder, loc, slopes, ofKeys(inputs[1]),
                      ofQuery(outputs[0]));
    buildOuterSum(builder, loc, slopes, query, ofKeys(outputs[1]));
    buildOuterSum(builder, loc, weights, grad, ofKeys(outputs[2]));
  });
}

bool AttentionGradOp::accumulates(unsigned) { return true; }

} // namespace zc::train
