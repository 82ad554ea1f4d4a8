//===- RecognizeAttention.cpp - softmax(q k^T) v as one op ----------------===//
//
// Exporters write attention as its parts: two products, scalings of q, k or the
// scores, a mask (added, or choosing between the scores and a number that
// hides), a guard against rows that a mask hides whole. As one op it needs no
// score matrix, and blocks that a causal mask hides are never computed.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/StateLookup.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Import/CausalMask.h"
#include "passes/Import/Lowering/TensorBuilder.h"
#include "passes/Import/NarrowMask.h"
#include "passes/Import/Passes.h"

#include <cmath>
#include <limits>
#include <optional>

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_RECOGNIZEATTENTIONPASS
#include "passes/Import/Passes.h.inc"

namespace {

/// The parts of one attention: query, key, value [batch, heads, tokens, width]
/// or without heads. With groups of queries that share keys, these are heads.
struct Parts {
  Value query, key, value;
  double scale = 1;
  bool causal = false;
  Value mask = {}; // added to the scores, with four dims, or none
  // 1 for queries that a mask which chooses a finite number lets see any key,
  // else 0, [batch or 1, heads or 1, queries or 1, 1], or none.
  Value seeing = {};
};

/// `value` without multiplications by constants, which go to `scale`.
Value takeScale(Value value, double &scale) {
  while (true) {
    if (auto product = value.getDefiningOp<MulOp>()) {
      auto right = splatNumber(product.getRhs());
      auto left = splatNumber(product.getLhs());
      if (!right && !left)
        return value;
      scale *= right ? *right : *left;
      value = right ? product.getLhs() : product.getRhs();
    } else if (auto quotient = value.getDefiningOp<DivOp>()) {
      auto divisor = splatNumber(quotient.getRhs());
      if (!divisor || *divisor == 0)
        return value;
      scale /= *divisor;
      value = quotient.getLhs();
    } else {
      return value;
    }
  }
}

/// An operand of a batched product with its last two dims swapped if `swap`.
Value swapLast(OpBuilder &builder, Location loc, Value value, bool swap) {
  if (!swap)
    return value;
  int64_t rank = typeOf(value).getRank();
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(permutation[rank - 2], permutation[rank - 1]);
  return transpose(builder, loc, value, permutation);
}

/// The mask of which `value` is the largest of each row, or null.
Value findMaskOfLargest(Value value) {
  auto view = value.getDefiningOp<ReshapeOp>();
  auto reduce = view ? view.getInput().getDefiningOp<ReduceOp>() : ReduceOp();
  if (!reduce || reduce.getKind() != ReduceKind::Max)
    return {};
  SmallVector<int64_t> shape(typeOf(reduce.getInput()).getShape());
  int64_t last = shape.size() - 1;
  shape[last] = 1;
  bool isOfRows = reduce.getDims() == ArrayRef(last) &&
                  typeOf(view).getShape() == ArrayRef(shape);
  return isOfRows ? reduce.getInput() : Value();
}

/// Whether `condition` holds where the mask that `scores` has added is minus
/// infinity throughout a row, as ONNX's function for Attention asks.
bool isHiddenByMask(Value condition, Value scores) {
  Spread hidden(condition);
  auto compare = hidden.value.getDefiningOp<CompareOp>();
  auto sum = scores.getDefiningOp<AddOp>();
  if (!sum || !compare || compare.getPredicate() != Predicate::Eq ||
      splatNumber(compare.getRhs()) != -std::numeric_limits<double>::infinity())
    return false;
  hidden.value = findMaskOfLargest(compare.getLhs());
  return hidden.value &&
         (Spread(sum.getLhs()) == hidden || Spread(sum.getRhs()) == hidden);
}

/// Weights without select(hidden, 0, weights), by which exporters make rows
/// that a mask hides whole zeros, where `hidden` is is_nan(weights) or asks the
/// mask: train.attention does so by itself.
Value withoutGuard(Value weights) {
  auto guard = weights.getDefiningOp<SelectOp>();
  if (!guard || splatNumber(guard.getOnTrue()) != 0.0)
    return weights;
  Value guarded = guard.getOnFalse();
  auto softmax = guarded.getDefiningOp<SoftmaxOp>();
  auto isNan = guard.getCondition().getDefiningOp<IsNanOp>();
  DenseElementsAttr never;
  bool isNever = matchPattern(guard.getCondition(), m_Constant(&never)) &&
                 never.isSplat() && !never.getSplatValue<bool>();
  bool isGuard =
      isNever ||
      (isNan && isNan->getOperand(0) == guarded && isNan->hasOneUse()) ||
      (softmax && isHiddenByMask(guard.getCondition(), softmax.getInput()));
  bool onlyGuarded = llvm::all_of(guarded.getUsers(), [&](Operation *user) {
    return user == guard || user == isNan;
  });
  return isGuard && onlyGuarded ? guarded : weights;
}

struct RecognizeAttention
    : public impl::RecognizeAttentionPassBase<RecognizeAttention> {
  void runOnOperation() override {
    SmallVector<MatmulOp> products;
    getOperation().walk([&](MatmulOp op) { products.push_back(op); });
    for (MatmulOp op : products) {
      OpBuilder builder(op);
      if (std::optional<Parts> parts = match(op, builder)) {
        replace(op, *parts, builder);
        ++numRecognized;
      }
    }
  }

private:
  /// The parts of the attention whose last product is `op`.
  std::optional<Parts> match(MatmulOp op, OpBuilder &builder) {
    Value weights = withoutGuard(op.getLhs());
    auto softmax = weights.getDefiningOp<SoftmaxOp>();
    RankedTensorType type = typeOf(op.getResult());
    int64_t rank = type.getRank();
    if (!softmax || op.getTransposeLhs() || !op.getLhs().hasOneUse() ||
        (rank != 3 && rank != 4 && !isGrouped(op)) ||
        static_cast<int64_t>(softmax.getDim()) != rank - 1)
      return std::nullopt;
    Parts parts;
    Value scores = takeCausalMask(softmax.getInput(), parts.causal);
    if (!parts.causal)
      scores = takeOtherMask(builder, scores, parts);
    auto product = takeScale(scores, parts.scale).getDefiningOp<MatmulOp>();
    if (!product || product.getTransposeLhs() || !product->hasOneUse())
      return std::nullopt;
    Location loc = op.getLoc();
    parts.query =
        joinGroups(builder, loc, takeScale(product.getLhs(), parts.scale));
    Value key = takeScale(product.getRhs(), parts.scale);
    if (parts.seeing)
      parts.query = silenceBlind(builder, parts.query, parts.seeing);
    key = swapLast(builder, loc, key, !product.getTransposeRhs());
    Value value = swapLast(builder, loc, op.getRhs(), op.getTransposeRhs());
    parts.key = joinGroups(builder, loc, key);
    parts.value = joinGroups(builder, loc, value);
    return parts;
  }

  /// Whether a product is of [batch, heads, group, tokens, width], where all
  /// queries of a group read the same values.
  static bool isGrouped(MatmulOp op) {
    if (typeOf(op.getResult()).getRank() != 5)
      return false;
    auto values = op.getRhs().getDefiningOp<BroadcastOp>();
    if (!values)
      return false;
    for (auto [dim, place] : llvm::enumerate(values.getDims()))
      if (place == 2)
        return typeOf(values.getInput()).getDimSize(dim) == 1;
    return true;
  }

  /// [batch, heads, group, tokens, width] as [batch, all heads, tokens, width];
  /// others as they are.
  static Value joinGroups(OpBuilder &builder, Location loc, Value value) {
    ArrayRef<int64_t> shape = typeOf(value).getShape();
    if (shape.size() != 5)
      return value;
    return reshape(builder, loc, value,
                   {shape[0], shape[1] * shape[2], shape[3], shape[4]});
  }

  /// `scores` without a causal mask, if they have one.
  Value takeCausalMask(Value scores, bool &causal) {
    Value unmasked = scores;
    if (auto sum = scores.getDefiningOp<AddOp>()) {
      if (masks.classify(sum.getRhs()) == MaskKind::Causal)
        unmasked = sum.getLhs();
      else if (masks.classify(sum.getLhs()) == MaskKind::Causal)
        unmasked = sum.getRhs();
    } else if (auto select = scores.getDefiningOp<SelectOp>()) {
      MaskKind mask = masks.classify(select.getCondition());
      if (mask == MaskKind::CausalSeen && hides(select.getOnFalse()))
        unmasked = select.getOnTrue();
      else if (mask == MaskKind::CausalHidden && hides(select.getOnTrue()))
        unmasked = select.getOnFalse();
    }
    causal = unmasked != scores;
    return unmasked;
  }

  /// A query that sees no key gives and gets no gradient where the scores it
  /// would have are replaced by a finite number: as zeros, all its scores are
  /// equal and no gradient passes.
  static Value silenceBlind(OpBuilder &builder, Value query, Value seeing) {
    SmallVector<int64_t> shape(typeOf(seeing).getShape());
    if (typeOf(query).getRank() == 3)
      shape.erase(shape.begin() + 1);
    Location loc = query.getLoc();
    Value factors = reshape(builder, loc, seeing, shape);
    auto dims = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
    factors = BroadcastOp::create(builder, loc, query.getType(), factors, dims);
    return MulOp::create(builder, loc, query, factors);
  }

  /// `scores` without another mask, if they have one; the parts' mask is what
  /// is to be added to them then.
  Value takeOtherMask(OpBuilder &builder, Value scores, Parts &parts) {
    Value &mask = parts.mask;
    auto isScores = [](Value value) {
      double scale = 1;
      return isa_and_nonnull<MatmulOp>(takeScale(value, scale).getDefiningOp());
    };
    if (auto sum = scores.getDefiningOp<AddOp>()) {
      bool left = isScores(sum.getLhs());
      Value other = left ? sum.getRhs() : sum.getLhs();
      if (!(left || isScores(sum.getRhs())) || dependsOnParameters(other))
        return scores;
      mask = shrinkMask(builder, other);
      return !mask ? scores : left ? sum.getLhs() : sum.getRhs();
    }
    auto select = scores.getDefiningOp<SelectOp>();
    if (!select)
      return scores;
    bool left = isScores(select.getOnTrue()) && hides(select.getOnFalse());
    bool right = isScores(select.getOnFalse()) && hides(select.getOnTrue());
    if (!(left || right) || dependsOnParameters(select.getCondition()))
      return scores;
    Value condition = shrinkMask(builder, select.getCondition());
    if (!condition)
      return scores;
    Location loc = select.getLoc();
    auto type = withShape(scores.getType(), typeOf(condition).getShape());
    Value zero = splat(builder, loc, type, 0);
    double number =
        *splatNumber(left ? select.getOnFalse() : select.getOnTrue());
    Value hidden = splat(builder, loc, type, number);
    if (std::isfinite(number)) {
      Value one = splat(builder, loc, type, 1);
      Value seen = SelectOp::create(builder, loc, type, condition,
                                    left ? one : zero, left ? zero : one);
      parts.seeing = largestOfRows(builder, loc, seen);
    }
    mask = SelectOp::create(builder, loc, type, condition, left ? zero : hidden,
                            left ? hidden : zero);
    return left ? select.getOnTrue() : select.getOnFalse();
  }

  /// The largest element of each row of [a, b, c, d], as [a, b, c, 1].
  static Value largestOfRows(OpBuilder &builder, Location loc, Value value) {
    SmallVector<int64_t> shape(typeOf(value).getShape());
    shape.back() = 1;
    auto type = withShape(value.getType(), ArrayRef(shape).drop_back());
    Value rows = ReduceOp::create(builder, loc, type, ReduceKind::Max, value,
                                  ArrayRef<int64_t>{3});
    return reshape(builder, loc, rows, shape);
  }

  /// The mask that was broadcast to `value`, which has the scores' shape, as
  /// [batch or 1, heads or 1, queries or 1, keys]; null if it is the same for
  /// all keys.
  static Value shrinkMask(OpBuilder &builder, Value value) {
    SmallVector<int64_t> scores(typeOf(value).getShape());
    if (Value narrow = narrowMask(builder, value))
      value = narrow;
    SmallVector<int64_t> shape(typeOf(value).getShape());
    if (auto spread = value.getDefiningOp<BroadcastOp>()) {
      value = spread.getInput();
      shape.assign(shape.size(), 1);
      for (auto [dim, size] :
           llvm::zip(spread.getDims(), typeOf(value).getShape()))
        shape[dim] = size;
      if (shape.back() != typeOf(spread.getResult()).getShape().back())
        return {};
    }
    if (shape.size() == 3)
      shape.insert(shape.begin() + 1, 1);
    Value mask = reshape(builder, value.getLoc(), value, shape);
    return shape.size() == 5 ? joinGroupsOfMask(builder, mask, scores) : mask;
  }

  /// A mask of five dims as one of all heads, or the same for all of them.
  static Value joinGroupsOfMask(OpBuilder &builder, Value mask,
                                ArrayRef<int64_t> scores) {
    SmallVector<int64_t> shape(typeOf(mask).getShape());
    if (shape[1] * shape[2] > 1) {
      shape[1] = scores[1];
      shape[2] = scores[2];
      mask = broadcast(builder, mask.getLoc(), mask, shape, {0, 1, 2, 3, 4});
    }
    return joinGroups(builder, mask.getLoc(), mask);
  }

  /// Whether a gradient would have to flow into `value`.
  bool dependsOnParameters(Value value) {
    SmallVector<Value> work = {value};
    DenseSet<Value> seen;
    while (!work.empty()) {
      Value next = work.pop_back_val();
      if (!seen.insert(next).second ||
          !isa<FloatType>(typeOf(next).getElementType()))
        continue;
      if (StateOp state = findState(next)) {
        if (state.getKind() == kParameter)
          return true;
      } else if (Operation *op = next.getDefiningOp()) {
        work.append(op->operand_begin(), op->operand_end());
      }
    }
    return false;
  }

  /// [batch, heads, tokens, width] to [batch, tokens, heads, width] or back;
  /// without heads there is one.
  static Value moveHeads(OpBuilder &builder, Location loc, Value value) {
    RankedTensorType type = typeOf(value);
    if (type.getRank() == 4)
      return transpose(builder, loc, value, {0, 2, 1, 3});
    ArrayRef<int64_t> shape = type.getShape();
    return reshape(builder, loc, value, {shape[0], shape[1], 1, shape[2]});
  }

  static void replace(MatmulOp op, const Parts &parts, OpBuilder &builder) {
    Location loc = op.getLoc();
    Value query = moveHeads(builder, loc, parts.query);
    Value key = moveHeads(builder, loc, parts.key);
    Value value = moveHeads(builder, loc, parts.value);
    ArrayRef<int64_t> shape = typeOf(query).getShape();
    auto sums = withShape(query.getType(), {shape[0], shape[2], shape[1]});
    auto results =
        withShape(query.getType(), {shape[0], shape[1], shape[2],
                                    typeOf(value).getShape().back()});
    auto attention =
        AttentionOp::create(builder, loc, results, sums, query, key, value,
                            parts.mask, builder.getF64FloatAttr(parts.scale),
                            parts.causal ? builder.getUnitAttr() : UnitAttr(),
                            /*tokens=*/StringAttr());
    Value result = attention.getResult();
    if (typeOf(op.getResult()).getRank() != 3)
      result = moveHeads(builder, loc, result);
    result = reshape(builder, loc, result, typeOf(op.getResult()).getShape());
    op.getResult().replaceAllUsesWith(result);
    op.erase();
  }

  CausalMasks masks;
};

} // namespace
} // namespace zc
