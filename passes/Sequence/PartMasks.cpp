//===- PartMasks.cpp - causal masks of which padding hides keys -----------===//
//
// select(causal and keys, 0, hidden), as transformers exports it, has an
// element for each query and key, as has the sum of a causal mask and one of
// keys. A ring does better with its parts: keys hide with the keys that travel,
// and nothing after a query is computed.
//
// A query that sees no key (padding on the left) needs care where `hidden` is
// finite. Its scores are lost in that number, so that all N keys count alike,
// those after it too: its result is the mean of all values, m = sum_j v_j / N,
// and the derivative by a score s_ij is
//   d result_i / d s_ij = (v_j - m) / N
// The parts do not give this, and it is added. To have these gradients, too, a
// term x - stop_gradient(x) is added, which is 0, where
//   x_i = sum_j s_ij (v_j - m) / N = scale q_i (sum_j k_j v_j^T / N - k m^T)
// (k is the mean of the keys) takes v and m for constants. It consists of sums
// over tokens, to which each rank adds its own.
//
//===----------------------------------------------------------------------===//
#include "passes/Sequence/PartMasks.h"

#include "dialects/Train/GradientOps.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"
#include "passes/Import/CausalMask.h"
#include "passes/Import/NarrowMask.h"
#include "passes/Sequence/MaskNumbers.h"
#include "passes/Sequence/TokenDims.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace zc::train;

namespace zc {

namespace {

/// The floats that `value` has been converted from, if it has.
Value throughFloats(Value value) {
  auto isOfFloats = [](Value each) {
    return isa<FloatType>(getElementTypeOrSelf(each.getType()));
  };
  auto convert = value.getDefiningOp<ConvertOp>();
  return convert && isOfFloats(convert.getInput()) && isOfFloats(value)
             ? throughFloats(convert.getInput())
             : value;
}

/// The terms of a conjunction, or of a sum whatever 16 bits it has been
/// converted to.
template <typename Op>
void collectTerms(Value value, SmallVectorImpl<Value> &terms) {
  if (std::is_same_v<Op, AddOp>)
    value = throughFloats(value);
  auto both = value.getDefiningOp<Op>();
  if (!both)
    return terms.push_back(value);
  for (Value operand : both->getOperands())
    collectTerms<Op>(operand, terms);
}

/// One attention with a mask of queries and keys.
class MaskedAttention {
public:
  MaskedAttention(AttentionOp op, CausalMasks &masks)
      : op(op), masks(masks), builder(op), loc(op.getLoc()) {}

  /// Whether part() would do something. It builds ops to ask, which go again.
  bool comesApart() {
    Block asked;
    builder.setInsertionPointToStart(&asked);
    return isOfBoth() && ((findHidden() && findKeys()) || findAdded());
  }

  void part() {
    if (!isOfBoth())
      return;
    Value mask = op.getMask();
    const std::optional<double> hidden = findHidden();
    Value seen = hidden ? findKeys() : Value();
    if (!seen)
      return partAdded();
    Value query = op.getQuery();
    op.getMaskMutable().assign(maskOf(seen));
    op.setCausal(true);
    if (std::isfinite(*hidden))
      addBlind(findBlind(mask), query);
  }

private:
  /// Whether there is a mask of queries and keys, and the same tokens have
  /// both.
  bool isOfBoth() {
    return op.getMask() && !op.getCausal() && hasMaskOfQueries(op) &&
           hasKeysOfQueries(op);
  }

  /// The mask of keys, whatever its numbers, if minus infinity is added to it
  /// after each query; or null.
  Value findAdded() {
    SmallVector<Value> terms;
    collectTerms<AddOp>(op.getMask(), terms);
    Value keys;
    bool isCausal = false;
    for (Value term : terms) {
      if (hidesLater(term)) {
        isCausal = true;
        continue;
      }
      Value narrow = narrowMask(builder, term);
      if (!narrow)
        return {};
      keys = keys ? sum(keys, narrow) : narrow;
    }
    return isCausal ? keys : Value();
  }

  /// In the terms' type, or one that holds the numbers of both.
  Value sum(Value a, Value b) {
    Type left = getElementTypeOrSelf(a.getType()),
         right = getElementTypeOrSelf(b.getType());
    Type wider = left;
    if (left.getIntOrFloatBitWidth() < right.getIntOrFloatBitWidth())
      wider = right;
    else if (left != right && left.getIntOrFloatBitWidth() == 16)
      wider = builder.getF32Type(); // float16 and bfloat16
    return AddOp::create(builder, loc, convert(builder, loc, a, wider),
                         convert(builder, loc, b, wider));
  }

  /// By minus infinity.
  bool hidesLater(Value term) {
    if (masks.classify(term) != MaskKind::Causal)
      return false;
    const std::optional<MaskNumbers> numbers = findMaskNumbers(term);
    return numbers &&
           numbers->findHidden() == -std::numeric_limits<double>::infinity();
  }

  void partAdded() {
    if (Value keys = findAdded()) {
      op.getMaskMutable().assign(convert(
          builder, loc, keys, getElementTypeOrSelf(op.getMask().getType())));
      op.setCausal(true);
    }
  }

  /// The one number that hides keys, if the mask's others are all 0.
  std::optional<double> findHidden() {
    std::optional<MaskNumbers> numbers = findMaskNumbers(op.getMask());
    std::optional<double> hidden =
        numbers ? numbers->findHidden() : std::nullopt;
    const bool isOrZero = hidden && *hidden != 0 && !numbers->hasOthers &&
                          llvm::all_of(numbers->single, [&](double number) {
                            return number == 0 || number == *hidden;
                          });
    return isOrZero ? hidden : std::nullopt;
  }

  /// The condition, of i1, under which a mask is 0, if it is one number
  /// elsewhere; or null.
  static Value conditionOf(Value mask) {
    auto select = mask.getDefiningOp<SelectOp>();
    return select && splatNumber(select.getOnTrue()) == 0.0 &&
                   hides(select.getOnFalse())
               ? select.getCondition()
               : Value();
  }

  /// The masks of which `mask` is the sum, or the conditions under which they
  /// are 0, whatever 16 bits it has been converted to.
  static void collectMasks(Value mask, SmallVectorImpl<Value> &terms) {
    SmallVector<Value> sum;
    collectTerms<AddOp>(mask, sum);
    for (Value term : sum) {
      if (Value condition = conditionOf(term))
        collectTerms<AndOp>(condition, terms);
      else
        terms.push_back(term);
    }
  }

  /// The keys that the mask shows to all later queries, [.., 1, keys], if it
  /// says only this and that it is causal; or null.
  Value findKeys() {
    SmallVector<Value> terms;
    collectMasks(op.getMask(), terms);
    Value keys;
    bool isCausal = false;
    for (Value term : terms) {
      const MaskKind kind = masks.classify(term);
      if (kind == MaskKind::CausalSeen || kind == MaskKind::Causal) {
        isCausal = true;
        continue;
      }
      Value narrow = narrowMask(builder, term);
      if (!narrow)
        return {};
      narrow = findSeen(narrow);
      keys =
          keys ? AndOp::create(builder, loc, keys, narrow).getResult() : narrow;
    }
    return isCausal ? keys : Value();
  }

  /// Where a mask shows keys, of i1; such a one as it is. One of floats has 0
  /// there, and elsewhere a number far below -1.
  Value findSeen(Value mask) {
    if (getElementTypeOrSelf(mask.getType()).isInteger(1))
      return mask;
    return compare(builder, loc, Predicate::Ge, mask,
                   number(cast<RankedTensorType>(mask.getType()), -1));
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

  /// Where a mask shows keys, or hides them by minus infinity, as which 16 bits
  /// have the lowest number of float32: what is hidden so gets zeros.
  Value isNotFinite(Value mask) {
    auto type = cast<RankedTensorType>(mask.getType());
    const double infinity = std::numeric_limits<double>::infinity();
    return OrOp::create(
        builder, loc, findSeen(mask),
        compare(builder, loc, Predicate::Eq, mask, number(type, -infinity)));
  }

  /// 1 for queries to which a mask shows no key, else 0, as the queries' shape.
  Value findBlind(Value mask) {
    ArrayRef<int64_t> shape = shapeOf(mask);
    auto type = withShape(op.getQuery().getType(), shape);
    Value condition = conditionOf(mask);
    if (!condition)
      condition = isNotFinite(mask);
    Value hidden = SelectOp::create(builder, loc, type, condition,
                                    number(type, 0), number(type, 1));
    Value rows =
        ReduceOp::create(builder, loc, withShape(type, shape.drop_back()),
                         ReduceKind::Min, hidden, ArrayRef<int64_t>{kMaskKeys});
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
    zero = narrow(builder, loc, zero, result.getType());
    Value more = AddOp::create(builder, loc, values, zero);
    Value sum = AddOp::create(builder, loc, result, more);
    result.replaceAllUsesExcept(sum, sum.getDefiningOp());
  }

  /// x, as above, of queries [batch, queries, heads, width], as wide as kernels
  /// compute: sums over all tokens are large.
  Value findSlope(Value query) {
    query = widen(builder, loc, query);
    Value values = constant(widen(builder, loc, op.getValue()));
    Value keys = widen(builder, loc, op.getKey());
    ArrayRef<int64_t> ofValues = shapeOf(values);
    const int64_t width = shapeOf(query)[3];
    Value products =
        MatmulOp::create(builder, loc,
                         withShape(values.getType(), {ofValues[0], ofValues[2],
                                                      width, ofValues[3]}),
                         byHead(keys), byHead(values),
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
        multiply(query, spread(mean(keys), shapeOf(query), {0, 2, 3})), {3});
    SmallVector<int64_t> shape(shapeOf(op.getResult()));
    Value second = multiply(spread(scores, shape, {0, 1, 2}),
                            spread(mean(values), shape, {0, 2, 3}));
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

bool comeApart(func::FuncOp program) {
  CausalMasks masks;
  bool found = false, all = true;
  for (auto op : llvm::make_early_inc_range(program.getOps<AttentionOp>()))
    if (op.getMask() && hasMaskOfQueries(op)) {
      found = true;
      all &= MaskedAttention(op, masks).comesApart();
    }
  return found && all;
}

void partMasks(func::FuncOp program) {
  CausalMasks masks;
  for (auto op : llvm::make_early_inc_range(program.getOps<AttentionOp>()))
    MaskedAttention(op, masks).part();
}

} // namespace zc
