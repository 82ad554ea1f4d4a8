//===- AttentionSupport.cpp - what attention and its gradient share -------===//
#include "dialects/Train/Ops/AttentionSupport.h"

#include "dialects/Train/Ops/RowSupport.h"

#include <limits>
#include <numeric>

using namespace mlir;

namespace zc::train {

RankedTensorType logSumExpType(RankedTensorType query) {
  ArrayRef<int64_t> shape = query.getShape();
  return withShape(query, {shape[0], shape[2], shape[1]});
}

static LogicalResult verifyMask(Operation *op, RankedTensorType query,
                                int64_t keys, Value mask) {
  auto type = cast<RankedTensorType>(mask.getType());
  ArrayRef<int64_t> shape = query.getShape();
  if (saysLastKeys(mask))
    return verifyType(
        op, "mask", type,
        RankedTensorType::get({1, 1, shape[1], 1}, type.getElementType()));
  int64_t full[] = {shape[0], shape[2], shape[1]};
  bool fits = type.getRank() == 4 && type.getDimSize(3) == keys &&
              type.getElementType() == query.getElementType();
  for (int64_t dim = 0; fits && dim < 3; ++dim)
    fits = llvm::is_contained({int64_t(1), full[dim]}, type.getDimSize(dim));
  if (fits)
    return success();
  return op->emitOpError("mask is ")
         << type << ", expected " << query.getElementType() << " [" << full[0]
         << " or 1, " << full[1] << " or 1, " << full[2] << " or 1, " << keys
         << "]";
}

std::optional<KeySource> getKeySource(Operation *attention) {
  if (auto op = dyn_cast<AttentionOp>(attention))
    return op.getTokens();
  if (auto op = dyn_cast<AttentionGradOp>(attention))
    return op.getTokens();
  return std::nullopt;
}

void setKeySource(Operation *attention, std::optional<KeySource> source) {
  if (auto op = dyn_cast<AttentionOp>(attention))
    op.setTokens(source);
  else
    cast<AttentionGradOp>(attention).setTokens(source);
}

bool isGather(std::optional<KeySource> source) {
  return source == KeySource::Gather || source == KeySource::GatherZigzag;
}

bool isZigzag(std::optional<KeySource> source) {
  return source == KeySource::RingZigzag || source == KeySource::GatherZigzag;
}

LogicalResult verifyAttention(Operation *op, RankedTensorType query,
                              RankedTensorType key, RankedTensorType value,
                              bool causal, Value mask) {
  if (query.getRank() != 4)
    return op->emitOpError("query is ")
           << query << ", expected [batch, queries, heads, width]";
  ArrayRef<int64_t> shape = query.getShape();
  int64_t keys = key.getRank() == 4 ? key.getDimSize(1) : shape[1];
  auto ofKeys = [&](int64_t width) {
    return withShape(query, {shape[0], keys, shape[2], width});
  };
  const int64_t width = value.getRank() == 4 ? value.getDimSize(3) : shape[3];
  if (failed(verifyType(op, "key", key, ofKeys(shape[3]))) ||
      failed(verifyType(op, "value", value, ofKeys(width))))
    return failure();
  if (causal && keys != shape[1])
    return op->emitOpError("is causal with ")
           << shape[1] << " queries and " << keys << " keys";
  if (causal && saysLastKeys(mask))
    return op->emitOpError("is causal, and has the queries' last keys, too");
  return mask ? verifyMask(op, query, keys, mask) : success();
}

/// The tokens that a rank has some of: other keys than queries come in as many
/// parts.
static int64_t countDivided(Operation *op, bool hasAllKeys) {
  auto tokensOf = [&](unsigned operand) {
    return cast<RankedTensorType>(op->getOperand(operand).getType())
        .getDimSize(1);
  };
  return hasAllKeys ? tokensOf(0) : std::gcd(tokensOf(0), tokensOf(1));
}

ShardingRule attentionShardingRule(Operation *op, unsigned mask) {
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
  const std::optional<KeySource> source = getKeySource(op);
  const bool hasAllKeys = source == KeySource::Whole;
  const int tokens = source ? rule.addFactor(countDivided(op, hasAllKeys))
                            : ShardingRule::kWhole;
  auto placeTokens = [&](auto &lists, bool hasKeys) {
    for (auto [index, dims] : llvm::enumerate(lists)) {
      const bool isOfKeys = hasKeys && (index == 1 || index == 2);
      dims[dims.size() == 4 ? 1 : 2] =
          isOfKeys && hasAllKeys ? ShardingRule::kWhole : tokens;
    }
  };
  placeTokens(rule.operandDims, true);
  placeTokens(rule.resultDims, /*of the gradient*/ op->getNumResults() == 3);
  if (mask < op->getNumOperands()) {
    auto type = cast<RankedTensorType>(op->getOperand(mask).getType());
    auto &dims = rule.operandDims[mask];
    // A mask of queries and keys goes with the queries, one of keys with
    // these.
    bool ofQueries = type.getDimSize(2) != 1;
    bool gathers = hasAllKeys || isGather(source);
    dims = {batch, heads, ofQueries ? tokens : ShardingRule::kWhole,
            ofQueries || gathers ? ShardingRule::kWhole : tokens};
    for (int64_t dim = 0; dim < 2; ++dim)
      if (type.getDimSize(dim) == 1) // the same for all parts
        dims[dim] = ShardingRule::kWhole;
  }
  return rule;
}

bool saysLastKeys(Value mask) {
  return mask && getElementTypeOrSelf(mask.getType()).isInteger(64);
}

RankedTensorType attentionResultType(RankedTensorType query,
                                     RankedTensorType value) {
  ArrayRef<int64_t> shape = query.getShape();
  return withShape(query, {shape[0], shape[1], shape[2], value.getDimSize(3)});
}

double attentionProductFlops(RankedTensorType query, RankedTensorType key,
                             bool isPartial) {
  double pairs = double(query.getDimSize(1)) * key.getDimSize(1);
  if (isPartial)
    pairs = (pairs + query.getDimSize(1)) / 2;
  return 2 * pairs * query.getDimSize(0) * query.getDimSize(2) *
         query.getDimSize(3);
}

Value AttentionRow::ofQuery(OpBuilder &builder, Location loc, Value buffer,
                            Indices at) {
  return buildSlice(builder, loc, buffer, {0, 1, 2}, at);
}

Value AttentionRow::ofMask(OpBuilder &builder, Location loc, Value buffer,
                           Indices at) {
  ArrayRef<int64_t> shape = shapeOf(buffer);
  SmallVector<OpFoldResult> place = {at[0], at[2], at[1]};
  for (int64_t dim = 0; dim < 3; ++dim)
    if (shape[dim] == 1)
      place[dim] = builder.getIndexAttr(0);
  return buildSlice(builder, loc, buffer, {0, 1, 2}, place);
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

Value buildHidden(OpBuilder &builder, Location loc, Value sum, Value largest) {
  ScalarBuilder s(builder, loc);
  auto compare = [&](arith::CmpFPredicate predicate, Value value, double to) {
    return arith::CmpFOp::create(builder, loc, predicate, value,
                                 s.constant(value.getType(), to));
  };
  return arith::AndIOp::create(
      builder, loc, compare(arith::CmpFPredicate::OLT, sum, kAllHidden),
      compare(arith::CmpFPredicate::UNE, largest,
              -std::numeric_limits<double>::infinity()));
}

/// The largest number of a type below kAllHidden.
static double nextBelowHidden(Type type) {
  APFloat number(kAllHidden);
  bool losesInfo = false;
  number.convert(cast<FloatType>(type).getFloatSemantics(),
                 APFloat::rmNearestTiesToEven, &losesInfo);
  number.next(/*nextDown=*/true);
  return number.convertToDouble();
}

Value buildHiddenLog(OpBuilder &builder, Location loc, Value logSum,
                     Value hidden) {
  ScalarBuilder s(builder, loc);
  Type type = logSum.getType();
  Value most = s.constant(type, nextBelowHidden(type));
  return s.select(hidden, s.min(logSum, most), logSum);
}

Value buildMaskedScores(OpBuilder &builder, Location loc, Value mask,
                        Value scores, Value scratch, Value sum) {
  buildPointwise(builder, loc, mask, scores,
                 [](OpBuilder &nested, Location at, ValueRange e) {
                   ScalarBuilder s(nested, at);
                   return SmallVector<Value>{s.add(e[1], e[0])};
                 });
  Value largest = buildRowLargest(builder, loc, scores, scratch);
  Value hidden = buildHidden(builder, loc, sum ? sum : largest, largest);
  // A causal mask's minus infinity stays.
  Type type = largest.getType();
  const double lowest = -std::numeric_limits<double>::infinity();
  buildPointwise(builder, loc, mask, scores,
                 [&](OpBuilder &nested, Location at, ValueRange e) {
                   ScalarBuilder s(nested, at);
                   Value none = arith::CmpFOp::create(
                       nested, at, arith::CmpFPredicate::OEQ, e[1],
                       s.constant(type, lowest));
                   Value lost = s.select(none, e[1], e[0]);
                   return SmallVector<Value>{s.select(hidden, lost, e[1])};
                 });
  return largest;
}

OpFoldResult buildLastKey(OpBuilder &builder, Location loc, bool causal,
                          Value mask, Indices at) {
  if (causal)
    return at[1];
  if (!saysLastKeys(mask))
    return OpFoldResult();
  OpFoldResult none = builder.getIndexAttr(0);
  Value last = buildLoad(builder, loc, mask, {none, none, at[1], none});
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), last)
      .getResult();
}

void buildMaskedScale(OpBuilder &builder, Location loc, Value scores,
                      double scale, OpFoldResult last) {
  Value lastKey = last ? toIndexValue(builder, loc, last) : Value();
  buildPointwise(builder, loc, ValueRange(), scores,
                 [&](OpBuilder &nested, Location at, ValueRange e) {
                   ScalarBuilder s(nested, at);
                   Type type = e[0].getType();
                   Value scaled = s.mul(e[0], s.constant(type, scale));
                   if (!lastKey)
                     return SmallVector<Value>{scaled};
                   Value key = linalg::IndexOp::create(nested, at, 0);
                   Value seen = arith::CmpIOp::create(
                       nested, at, arith::CmpIPredicate::sle, key, lastKey);
                   Value hidden = s.constant(
                       type, -std::numeric_limits<double>::infinity());
                   return SmallVector<Value>{s.select(seen, scaled, hidden)};
                 });
}

} // namespace zc::train
