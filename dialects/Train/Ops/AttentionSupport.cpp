//===- AttentionSupport.cpp - what attention and its gradient share -------===//
#include "dialects/Train/Ops/AttentionSupport.h"

#include <limits>

using namespace mlir;

namespace zc::train {

RankedTensorType logSumExpType(RankedTensorType query) {
  ArrayRef<int64_t> shape = query.getShape();
  return withShape(query, {shape[0], shape[2], shape[1]});
}

LogicalResult verifyAttention(Operation *op, RankedTensorType query,
                              RankedTensorType key, RankedTensorType value,
                              bool causal) {
  if (query.getRank() != 4)
    return op->emitOpError("query is ")
           << query << ", expected [batch, queries, heads, width]";
  ArrayRef<int64_t> shape = query.getShape();
  int64_t keys = key.getRank() == 4 ? key.getDimSize(1) : shape[1];
  RankedTensorType expected =
      withShape(query, {shape[0], keys, shape[2], shape[3]});
  if (failed(verifyType(op, "key", key, expected)) ||
      failed(verifyType(op, "value", value, expected)))
    return failure();
  if (causal && keys != shape[1])
    return op->emitOpError("is causal with ")
           << shape[1] << " queries and " << keys << " keys";
  return success();
}

ShardingRule attentionShardingRule(Operation *op) {
  ShardingRule rule = ShardingRule::whole(op);
  auto query = cast<RankedTensorType>(op->getOperand(0).getType());
  int batch = rule.addFactor(query.getDimSize(0));
  int heads = rule.addFactor(query.getDimSize(2));
  auto place = [&](auto &lists) {
    for (auto &dims : lists) {
      dims[0] = batch;
      dims[dims.size() == 4 ? 2 : 1] = heads;
    }
  };
  place(rule.operandDims);
  place(rule.resultDims);
  return rule;
}

double attentionProductFlops(RankedTensorType query, RankedTensorType key,
                             bool causal) {
  double pairs = double(query.getDimSize(1)) * key.getDimSize(1);
  if (causal)
    pairs = (pairs + query.getDimSize(1)) / 2;
  return 2 * pairs * query.getDimSize(0) * query.getDimSize(2) *
         query.getDimSize(3);
}

Value AttentionRow::ofQuery(OpBuilder &builder, Location loc, Value buffer,
                            Indices at) {
  return buildSlice(builder, loc, buffer, {0, 1, 2}, at);
}

Value AttentionRow::ofKeys(OpBuilder &builder, Location loc, Value buffer,
                           Indices at) {
  return buildSlice(builder, loc, buffer, {0, 2}, {at[0], at[2]});
}

void buildRowProducts(OpBuilder &builder, Location loc, Value rows, Value row,
                      Value sums) {
  buildFill(builder, loc, sums, 0);
  AffineMap pair = identityMap(builder, 2);
  buildGeneric(
      builder, loc, 2,
      {pair, identityMap(builder, 2, {0}), identityMap(builder, 2, {1})},
      {rows, row}, sums, [](OpBuilder &nested, Location at, ValueRange e) {
        ScalarBuilder s(nested, at);
        return SmallVector<Value>{s.add(e[2], s.mul(e[0], e[1]))};
      });
}

void buildWeightedRows(OpBuilder &builder, Location loc, Value weights,
                       Value rows, Value sum) {
  AffineMap pair = identityMap(builder, 2);
  buildGeneric(
      builder, loc, 2,
      {identityMap(builder, 2, {1}), pair, identityMap(builder, 2, {0})},
      {weights, rows}, sum, [](OpBuilder &nested, Location at, ValueRange e) {
        ScalarBuilder s(nested, at);
        return SmallVector<Value>{s.add(e[2], s.mul(e[0], e[1]))};
      });
}

void buildMaskedScale(OpBuilder &builder, Location loc, Value scores,
                      double scale, bool causal, OpFoldResult query) {
  Value last = toIndexValue(builder, loc, query);
  buildPointwise(builder, loc, ValueRange(), scores,
                 [&](OpBuilder &nested, Location at, ValueRange e) {
                   ScalarBuilder s(nested, at);
                   Type type = e[0].getType();
                   Value scaled = s.mul(e[0], s.constant(type, scale));
                   if (!causal)
                     return SmallVector<Value>{scaled};
                   Value key = linalg::IndexOp::create(nested, at, 0);
                   Value seen = arith::CmpIOp::create(
                       nested, at, arith::CmpIPredicate::sle, key, last);
                   Value hidden = s.constant(
                       type, -std::numeric_limits<double>::infinity());
                   return SmallVector<Value>{s.select(seen, scaled, hidden)};
                 });
}

} // namespace zc::train
