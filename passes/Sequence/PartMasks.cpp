//===- PartMasks.cpp - causal masks of which padding hides keys -----------===//
//
// select(causal and keys, 0, hidden), as transformers exports it, has an
// element for each query and key. In a ring its parts are worth more: keys hide
// with the keys that travel, and nothing after a query is computed.
//
// A query that sees no key (padding on the left) is another matter where
// `hidden` is finite: its scores are lost in that number, so that all keys
// count alike, those after it too. With N keys it gets the mean of all values,
// m = sum_j v_j / N, and gradients pass as at equal scores s_ij:
//   d result_i / d s_ij = (v_j - m) / N
// This is the derivative of
//   x_i = sum_j s_ij (v_j - m) / N = scale q_i (sum_j k_j v_j^T / N - k m^T)
// (with k the keys' mean) where v and m are constants: so x - x is added, of
// which the second is a constant, too. These are sums over tokens.
//
//===----------------------------------------------------------------------===//
#include "passes/Sequence/PartMasks.h"

#include "dialects/Train/GradientOps.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Import/CausalMask.h"
#include "passes/Import/NarrowMask.h"
#include "passes/Sequence/TokenDims.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace zc::train;

namespace zc {

namespace {

ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// The terms of a conjunction.
void collectTerms(Value condition, SmallVectorImpl<Value> &terms) {
  auto both = condition.getDefiningOp<AndOp>();
  if (!both)
    return terms.push_back(condition);
  for (Value operand : both->getOperands())
    collectTerms(operand, terms);
}

/// One attention with a mask of queries and keys.
class MaskedAttention {
public:
  MaskedAttention(AttentionOp op, CausalMasks &masks)
      : op(op), masks(masks), builder(op), loc(op.getLoc()) {}

  void part() {
    if (!op.getMask() || op.getCausal() || !hasMaskOfQueries(op) ||
        !hasKeysOfQueries(op))
      return;
    auto select = op.getMask().getDefiningOp<SelectOp>();
    if (!select || splatNumber(select.getOnTrue()) != 0.0 ||
        !hides(select.getOnFalse()))
      return;
    Value seen = findKeys(select.getCondition());
    if (!seen)
      return;
    Value query = op.getQuery();
    op.getMaskMutable().assign(maskOf(seen));
    op.setCausal(true);
    if (std::isfinite(*splatNumber(select.getOnFalse())))
      addBlind(findBlind(select.getCondition()), query);
  }

private:
  /// Which keys a condition shows to all later queries, [.., 1, keys], if this
  /// and the causal mask are all that it says; or null.
  Value findKeys(Value condition) {
    SmallVector<Value> terms;
    collectTerms(condition, terms);
    Value keys;
    bool isCausal = false;
    for (Value term : terms) {
      if (masks.classify(term) == MaskKind::CausalSeen) {
        isCausal = true;
        continue;
      }
      Value narrow = narrowMask(builder, term);
      if (!narrow)
        return {};
      keys =
          keys ? AndOp::create(builder, loc, keys, narrow).getResult() : narrow;
    }
    return isCausal ? keys : Value();
  }

  Value number(RankedTensorType type, double value) {
    return splat(builder, loc, type, value);
  }

  Value maskOf(Value seen) {
    auto type = withShape(op.getMask().getType(), shapeOf(seen));
    return SelectOp::create(
        builder, loc, type, seen, number(type, 0),
        number(type, -std::numeric_limits<double>::infinity()));
  }

  /// 1 for queries that see no key, else 0, as the queries' shape.
  Value findBlind(Value condition) {
    ArrayRef<int64_t> shape = shapeOf(condition);
    auto type = withShape(op.getQuery().getType(), shape);
    Value hidden = SelectOp::create(builder, loc, type, condition,
                                    number(type, 0), number(type, 1));
    Value rows =
        ReduceOp::create(builder, loc, withShape(type, shape.drop_back()),
                         "min", hidden, ArrayRef<int64_t>{kMaskKeys});
    return transpose(builder, loc, rows, {0, 2, 1}); // [batch, queries, heads]
  }

  Value spread(Value value, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
    return broadcast(builder, loc, value, shape, dims);
  }

  Value multiply(Value a, Value b) { return MulOp::create(builder, loc, a, b); }

  Value times(Value value, double factor) {
    return multiply(value,
                    number(cast<RankedTensorType>(value.getType()), factor));
  }

  /// The mean over the tokens of [batch, tokens, heads, width].
  Value mean(Value value) {
    Value sum = reduceSum(builder, loc, value, {kTokens});
    Value all = times(sum, 1.0 / double(shapeOf(value)[kTokens]));
    return narrow(builder, loc, all, value.getType());
  }

  Value constant(Value value) {
    return StopGradientOp::create(builder, loc, value);
  }

  /// Adds what queries get that see no key.
  void addBlind(Value blind, Value query) {
    builder.setInsertionPointAfter(op);
    Value result = op.getResult();
    ArrayRef<int64_t> shape = shapeOf(result);
    Value values = multiply(spread(mean(op.getValue()), shape, {0, 2, 3}),
                            spread(blind, shape, {0, 1, 2}));
    Value hidden = multiply(query, spread(blind, shapeOf(query), {0, 1, 2}));
    Value slope = findSlope(hidden);
    Value zero = SubOp::create(builder, loc, slope, constant(slope));
    Value more = AddOp::create(builder, loc, values, zero);
    Value sum = AddOp::create(builder, loc, result, more);
    result.replaceAllUsesExcept(sum, sum.getDefiningOp());
  }

  /// x, as above, of queries [batch, queries, heads, width].
  Value findSlope(Value query) {
    Value values = constant(op.getValue());
    ArrayRef<int64_t> ofValues = shapeOf(values);
    const int64_t width = shapeOf(query)[3];
    Value products =
        MatmulOp::create(builder, loc,
                         withShape(values.getType(), {ofValues[0], ofValues[2],
                                                      width, ofValues[3]}),
                         byHead(op.getKey()), byHead(values),
                         /*transpose_lhs=*/true, /*transpose_rhs=*/false);
    Value rows = byHead(query);
    SmallVector<int64_t> results(shapeOf(rows));
    results[3] = ofValues[3];
    Value first = MatmulOp::create(
        builder, loc, withShape(values.getType(), results), rows, products,
        /*transpose_lhs=*/false, /*transpose_rhs=*/false);
    const double scale = op.getScale().convertToDouble();
    first = times(first, scale / double(ofValues[kTokens]));
    Value scores = reduceSum(
        builder, loc,
        multiply(query, spread(mean(op.getKey()), shapeOf(query), {0, 2, 3})),
        {3});
    scores = narrow(builder, loc, scores, query.getType());
    SmallVector<int64_t> shape(shapeOf(op.getResult()));
    Value second =
        multiply(spread(scores, shape, {0, 1, 2}),
                 spread(constant(mean(op.getValue())), shape, {0, 2, 3}));
    return SubOp::create(builder, loc, byHead(first), times(second, scale));
  }

  /// [batch, tokens, heads, width] as [batch, heads, tokens, width], or back.
  Value byHead(Value value) {
    return transpose(builder, loc, value, {0, 2, 1, 3});
  }

  AttentionOp op;
  CausalMasks &masks;
  OpBuilder builder;
  Location loc;
};

} // namespace

void partMasks(func::FuncOp program) {
  CausalMasks masks;
  for (auto op : llvm::make_early_inc_range(program.getOps<AttentionOp>()))
    MaskedAttention(op, masks).part();
}

} // namespace zc
