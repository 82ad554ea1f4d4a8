//===- PartAttention.cpp - attention of tokens that ranks divide ----------===//
//
// With l = log sum exp of a block's scores and o its result, blocks of keys add
// up to all: l' = log(e^l1 + e^l2), o' = e^(l1 - l') o1 + e^(l2 - l') o2. Of
// the gradients p_ij = e^(s_ij - l'_i) knows no blocks: with all tokens' result
// and log sum exp each block's are terms of sums.
//
// All ranks run one program. Of what a causal mask hides from some of them they
// take nothing: a log sum exp of minus infinity forwards, of the largest number
// backwards.
//
//===----------------------------------------------------------------------===//
#include "passes/Sequence/PartAttention.h"
#include "passes/Sequence/RepeatedOperand.h"

#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/Ops/AttentionSupport.h"
#include "dialects/Train/Ops/OpSupport.h"

#include <limits>

using namespace mlir;
using namespace zc::train;

namespace zc {

namespace {

constexpr int64_t kTokens = 1;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// The log sum exp of a query that sees no key: see train.attention.
constexpr double kSeesNothing = std::numeric_limits<float>::max();

/// Keys with values, and what hides some of them. With their gradients in the
/// backward.
struct Block {
  Value key, value, mask;
  Value keyGrad = Value(), valueGrad = Value();
};

/// What queries have got of the blocks so far.
struct Rows {
  Value result; // as wide as kernels compute
  Value logSumExp;
};

/// What forward and backward share.
class PartAttention {
public:
  PartAttention(Operation *op, const TokenGroup &group)
      : op(op), group(group), builder(op), loc(op->getLoc()),
        keys(op->getOperand(1)), values(op->getOperand(2)) {}

protected:
  static ArrayRef<int64_t> shapeOf(Value value) {
    return cast<RankedTensorType>(value.getType()).getShape();
  }

  /// The rank's value goes to the next one; its own comes from the one before.
  Value rotate(Value value) { return value ? ofPass(send(value)) : value; }

  Value send(Value value) {
    return dist::SendReceiveOp::create(builder, loc, value.getType(), value,
                                       group.axes, 1, dist::kActivations);
  }

  /// What the backward fetches, or takes out of what is kept, is not the
  /// forward's, kept until then: a rank has no more than its own part and one
  /// buffer.
  Value ofPass(Value made) {
    made.getDefiningOp()->setAttr(
        dist::kPassAttr,
        builder.getStringAttr(isa<AttentionOp>(op) ? "forward" : "backward"));
    return made;
  }

  /// A sum of what blocks give, to which later ones add.
  Value running(Value sum) {
    sum.getDefiningOp()->setAttr(kRunningSumAttr, builder.getUnitAttr());
    return sum;
  }

  /// Only a mask over keys goes with them.
  Block rotate(const Block &block) {
    return {rotate(block.key), rotate(block.value), rotate(block.mask)};
  }

  /// Whether the block that has gone `turns` ranks far began at a rank before
  /// this one, and not behind it.
  Value beganBefore(int64_t turns) {
    Value own = group.coordinate();
    return compare(builder, loc, "ge", own,
                   splat(builder, loc, own.getType(), double(turns)));
  }

  Value choose(Value condition, Value onTrue, Value onFalse) {
    Value all = broadcast(builder, loc, condition, shapeOf(onTrue), {});
    return ofPass(
        SelectOp::create(builder, loc, onTrue.getType(), all, onTrue, onFalse));
  }

  Value number(Value like, double value) {
    return splat(builder, loc, like.getType(), value);
  }

  /// The first or second half along a dim.
  Value half(Value value, int64_t dim, bool second) {
    SmallVector<int64_t> shape(shapeOf(value)), offsets(shape.size(), 0);
    shape[dim] /= 2;
    offsets[dim] = second ? shape[dim] : 0;
    return ofPass(
        SliceOp::create(builder, loc, withShape(value.getType(), shape), value,
                        offsets, SmallVector<int64_t>(shape.size(), 1)));
  }

  /// Values of one shape, one after another along a dim.
  Value concat(ValueRange parts, int64_t dim) {
    SmallVector<int64_t> shape(shapeOf(parts.front()));
    shape[dim] *= int64_t(parts.size());
    return ConcatOp::create(
        builder, loc, withShape(parts.front().getType(), shape), parts, dim);
  }

  /// All ranks' parts of keys, or values, one after another, repeated for
  /// queries that share them behind the wire.
  Value gather(const RepeatedOperand &operand) {
    Value part = operand.getSource();
    SmallVector<int64_t> shape(shapeOf(part)), row(shape);
    row.insert(row.begin(), 1);
    Value own = reshape(builder, loc, part, row);
    row[0] = group.ranks;
    Value all = ofPass(
        dist::AllGatherOp::create(builder, loc, withShape(part.getType(), row),
                                  own, group.axes, 0, dist::kActivations));
    if (!operand.isRepeated()) {
      shape[kTokens] *= group.ranks;
      all = transpose(builder, loc, all, {1, 0, 2, 3, 4});
      return reshape(builder, loc, all, shape);
    }
    SmallVector<Value> parts;
    for (int64_t rank = 0; rank < group.ranks; ++rank)
      parts.push_back(operand.repeat(
          builder, reshape(builder, loc, cut(all, 0, rank), shape)));
    return concat(parts, kTokens);
  }

  /// A rank's part of the ranks' sum of the gradients of what `gather` made, as
  /// the gradient of its own.
  Value reduceScatter(const RepeatedOperand &operand, Value grad) {
    if (!operand.isRepeated())
      return reduceScatter(grad, kTokens);
    SmallVector<Value> parts;
    for (int64_t rank = 0; rank < group.ranks; ++rank) {
      Value sum = operand.sum(builder, cut(grad, kTokens, rank));
      SmallVector<int64_t> row(shapeOf(sum));
      row.insert(row.begin(), 1);
      parts.push_back(reshape(builder, loc, sum, row));
    }
    Value own = reduceScatter(concat(parts, 0), 0);
    return operand.place(builder,
                         reshape(builder, loc, own, shapeOf(own).drop_front()));
  }

  /// The `rank`-th of as many equal pieces along a dim as there are ranks.
  Value cut(Value all, int64_t dim, int64_t rank) {
    SmallVector<int64_t> shape(shapeOf(all)), offsets(shape.size(), 0);
    shape[dim] /= group.ranks;
    offsets[dim] = rank * shape[dim];
    return SliceOp::create(builder, loc, withShape(all.getType(), shape), all,
                           offsets, SmallVector<int64_t>(shape.size(), 1));
  }

  /// A rank's part of the ranks' sum.
  Value reduceScatter(Value term, int64_t dim) {
    SmallVector<int64_t> shape(shapeOf(term));
    shape[dim] /= group.ranks;
    auto part = withShape(term.getType(), shape);
    auto sum = dist::ReduceScatterOp::create(
        builder, loc, part, term, group.axes, dim, dist::kActivations);
    Value local =
        sum.buildLocal(builder, term, part, group.ranks, group.coordinate);
    sum->erase();
    return local;
  }

  /// [1, 1, queries, keys]: 0 up to a query's own token, minus infinity behind,
  /// of a rank's queries and all keys, in the element type of `query`.
  Value causalMask(Value query) {
    int64_t queries = shapeOf(query)[kTokens], keys = queries * group.ranks;
    SmallVector<int64_t> shape = {1, 1, queries, keys};
    auto count = [&](int64_t size) -> Value {
      return IotaOp::create(
          builder, loc, RankedTensorType::get({size}, builder.getI64Type()), 1);
    };
    Value own = group.coordinate();
    Value first =
        MulOp::create(builder, loc, own, number(own, double(queries)));
    Value rows = broadcast(builder, loc, count(queries), shape, {2});
    rows = AddOp::create(builder, loc, rows,
                         broadcast(builder, loc, first, shape, {}));
    Value seen =
        compare(builder, loc, "le",
                broadcast(builder, loc, count(keys), shape, {3}), rows);
    auto type = withShape(query.getType(), shape);
    return SelectOp::create(builder, loc, type, seen,
                            splat(builder, loc, type, 0),
                            splat(builder, loc, type, -kInfinity));
  }

  /// Two masks' sum; either may be null.
  Value addMasks(Value a, Value b) {
    if (!a || !b)
      return a ? a : b;
    SmallVector<int64_t> shape(shapeOf(a));
    for (auto [size, other] : llvm::zip(shape, shapeOf(b)))
      size = std::max(size, other);
    return AddOp::create(builder, loc,
                         broadcast(builder, loc, a, shape, {0, 1, 2, 3}),
                         broadcast(builder, loc, b, shape, {0, 1, 2, 3}));
  }

  StringRef mode() const {
    return op->getAttrOfType<StringAttr>(kTokensAttr).getValue();
  }

  /// A block with what its keys and values are repeated for.
  Block whole(const Block &block) {
    return {keys.repeat(builder, block.key),
            values.repeat(builder, block.value), block.mask};
  }

  Operation *op;
  const TokenGroup &group;
  OpBuilder builder;
  Location loc;
  const RepeatedOperand keys, values;
};

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

class Forward : public PartAttention {
public:
  Forward(AttentionOp op, const TokenGroup &group)
      : PartAttention(op, group), attention(op) {}

  void run() {
    if (mode() == "gather")
      return attendGathered();
    Block block{keys.getSource(), values.getSource(), attention.getMask()};
    Rows rows = mode() == "zigzag" ? goZigzag(block) : goRound(block);
    if (attention.getMask()) {
      Value none = compare(builder, loc, "eq", rows.logSumExp,
                           number(rows.logSumExp, -kInfinity));
      rows.logSumExp = SelectOp::create(
          builder, loc, rows.logSumExp.getType(), none,
          number(rows.logSumExp, kSeesNothing), rows.logSumExp);
    }
    replace(narrow(builder, loc, rows.result, attention.getResult().getType()),
            rows.logSumExp);
  }

private:
  void replace(Value result, Value logSumExp) {
    for (Value made : {result, logSumExp})
      made.getDefiningOp()->setAttr(kOfOtherRanksAttr, builder.getUnitAttr());
    attention.getResult().replaceAllUsesWith(result);
    attention.getLogSumExp().replaceAllUsesWith(logSumExp);
    attention.erase();
  }

  AttentionOp build(Value query, const Block &block, bool causal) {
    SmallVector<int64_t> sums(shapeOf(attention.getLogSumExp()));
    sums[2] = shapeOf(query)[kTokens];
    return AttentionOp::create(
        builder, loc, query.getType(),
        withShape(attention.getLogSumExp().getType(), sums), query, block.key,
        block.value, block.mask, attention.getScaleAttr(),
        causal ? builder.getUnitAttr() : UnitAttr());
  }

  Rows attend(Value query, const Block &block, bool causal) {
    AttentionOp own = build(query, block, causal);
    Rows rows{widen(builder, loc, own.getResult()), own.getLogSumExp()};
    if (block.mask) {
      Value none = compare(builder, loc, "ge", rows.logSumExp,
                           number(rows.logSumExp, kSeesNothing));
      rows.logSumExp =
          SelectOp::create(builder, loc, rows.logSumExp.getType(), none,
                           number(rows.logSumExp, -kInfinity), rows.logSumExp);
    }
    return rows;
  }

  /// Those that see the block only where `condition` holds.
  Rows where(Value condition, Rows rows, bool holds = true) {
    Value nothing = number(rows.logSumExp, -kInfinity);
    rows.logSumExp = holds ? choose(condition, rows.logSumExp, nothing)
                           : choose(condition, nothing, rows.logSumExp);
    return rows;
  }

  /// [batch, heads, queries] times [batch, queries, heads, width].
  Value weigh(Value result, Value weight) {
    Value byToken = transpose(builder, loc, weight, {0, 2, 1});
    byToken = convert(builder, loc, byToken,
                      cast<ShapedType>(result.getType()).getElementType());
    return MulOp::create(
        builder, loc, result,
        broadcast(builder, loc, byToken, shapeOf(result), {0, 1, 2}));
  }

  Rows add(const Rows &a, const Rows &b) {
    Value largest = MaxOp::create(builder, loc, a.logSumExp, b.logSumExp);
    // Finite, that a difference of infinities is not asked for.
    largest =
        MaxOp::create(builder, loc, largest, number(largest, -kSeesNothing));
    auto share = [&](const Rows &rows) -> Value {
      return ExpOp::create(
          builder, loc, SubOp::create(builder, loc, rows.logSumExp, largest));
    };
    Value first = share(a), second = share(b);
    Value sum = AddOp::create(builder, loc, first, second);
    // At least 1, but where there is nothing.
    Value by = MaxOp::create(builder, loc, sum, number(sum, 1));
    first = DivOp::create(builder, loc, first, by);
    second = DivOp::create(builder, loc, second, by);
    Value result = AddOp::create(builder, loc, weigh(a.result, first),
                                 weigh(b.result, second));
    return {running(result),
            running(AddOp::create(builder, loc, largest,
                                  LogOp::create(builder, loc, sum)))};
  }

  Rows goRound(Block block) {
    const bool causal = attention.getCausal();
    Value query = attention.getQuery();
    Block next = rotate(block);
    Rows rows = attend(query, whole(block), causal);
    for (int64_t turns = 1; turns < group.ranks; ++turns) {
      block = next;
      if (turns + 1 < group.ranks)
        next = rotate(block);
      Rows more = attend(query, whole(block), false);
      rows = add(rows, causal ? where(beganBefore(turns), more) : more);
    }
    return rows;
  }

  /// Rank r has chunks r and 2p - 1 - r of 2p: half of each block's scores are
  /// its own to compute, whichever rank the block comes from.
  Rows goZigzag(Block block) {
    Value query = attention.getQuery();
    Block next = rotate(block);
    Rows own = attend(query, whole(block), true);
    Rows early{half(own.result, 1, false), half(own.logSumExp, 2, false)};
    Rows late{half(own.result, 1, true), half(own.logSumExp, 2, true)};
    Value first = half(query, 1, false), second = half(query, 1, true);
    for (int64_t turns = 1; turns < group.ranks; ++turns) {
      block = next;
      if (turns + 1 < group.ranks)
        next = rotate(block);
      Value before = beganBefore(turns);
      Block all = whole(block);
      Block low{half(all.key, 1, false), half(all.value, 1, false), {}};
      Block chosen{choose(before, low.key, half(all.key, 1, true)),
                   choose(before, low.value, half(all.value, 1, true)),
                   {}};
      Rows one = attend(choose(before, first, second), low, false);
      Rows other = attend(second, chosen, false);
      early = add(early, where(before, one));
      late = add(add(late, where(before, one, false)), other);
    }
    return {concat({early.result, late.result}, 1),
            concat({early.logSumExp, late.logSumExp}, 2)};
  }

  void attendGathered() {
    Value mask =
        attention.getCausal() ? causalMask(attention.getQuery()) : Value();
    Block all{gather(keys), gather(values),
              addMasks(attention.getMask(), mask)};
    AttentionOp own = build(attention.getQuery(), all, false);
    replace(own.getResult(), own.getLogSumExp());
  }

  AttentionOp attention;
};

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

class Backward : public PartAttention {
public:
  Backward(AttentionGradOp op, const TokenGroup &group)
      : PartAttention(op, group), gradient(op) {}

  void run() {
    if (mode() == "gather")
      return attendGathered();
    Block block{keys.getSource(), values.getSource(), gradient.getMask()};
    Value queryGrad = mode() == "zigzag" ? goZigzag(block) : goRound(block);
    queryGrad = narrow(builder, loc, queryGrad, gradient.getQuery().getType());
    replace({queryGrad, keys.place(builder, block.keyGrad),
             values.place(builder, block.valueGrad)});
  }

private:
  /// Queries with all that the gradient asks of them.
  struct Queries {
    Value query, result, logSumExp, grad;
  };

  void replace(ValueRange values) {
    gradient->replaceAllUsesWith(values);
    gradient.erase();
  }

  Queries getQueries() {
    return {gradient.getQuery(), gradient.getResult(), gradient.getLogSumExp(),
            gradient.getGrad()};
  }

  ValueRange build(const Queries &rows, const Block &block, bool causal) {
    auto op = AttentionGradOp::create(
        builder, loc, rows.query.getType(), block.key.getType(),
        block.value.getType(), rows.query, block.key, block.value, rows.result,
        rows.logSumExp, rows.grad, block.mask, gradient.getScaleAttr(),
        causal ? builder.getUnitAttr() : UnitAttr());
    return op->getResults();
  }

  Value add(Value a, Value b) { return AddOp::create(builder, loc, a, b); }

  /// As wide as kernels compute, for as many terms as there are ranks.
  Value wide(Value grad) { return widen(builder, loc, grad); }

  void addTo(Value &sum, Value term) { sum = running(add(sum, wide(term))); }

  void addGrads(Block &block, Value keyGrad, Value valueGrad) {
    block.keyGrad = add(block.keyGrad, keys.sum(builder, keyGrad));
    block.valueGrad = add(block.valueGrad, values.sum(builder, valueGrad));
  }

  /// Gradients travel with the keys and values that they belong to, and one
  /// turn more, home.
  void rotateGrads(Block &block) {
    block.keyGrad = send(block.keyGrad);
    block.valueGrad = send(block.valueGrad);
  }

  Value goRound(Block &block) {
    const bool causal = gradient.getCausal();
    Queries rows = getQueries();
    Block next = rotate(block);
    ValueRange first = build(rows, whole(block), causal);
    Value queryGrad = wide(first[0]);
    block.keyGrad = keys.sum(builder, first[1]);
    block.valueGrad = values.sum(builder, first[2]);
    for (int64_t turns = 1; turns < group.ranks; ++turns) {
      next.keyGrad = block.keyGrad;
      next.valueGrad = block.valueGrad;
      block = next;
      rotateGrads(block);
      if (turns + 1 < group.ranks)
        next = rotate(block);
      Queries seen = rows;
      if (causal)
        seen.logSumExp = choose(beganBefore(turns), rows.logSumExp,
                                number(rows.logSumExp, kSeesNothing));
      ValueRange terms = build(seen, whole(block), false);
      addTo(queryGrad, terms[0]);
      addGrads(block, terms[1], terms[2]);
    }
    rotateGrads(block);
    return queryGrad;
  }

  Queries halfOf(const Queries &rows, bool second) {
    return {half(rows.query, 1, second), half(rows.result, 1, second),
            half(rows.logSumExp, 2, second), half(rows.grad, 1, second)};
  }

  Queries chooseRows(Value condition, const Queries &a, const Queries &b) {
    return {choose(condition, a.query, b.query),
            choose(condition, a.result, b.result),
            choose(condition, a.logSumExp, b.logSumExp),
            choose(condition, a.grad, b.grad)};
  }

  /// `value` where the condition holds (or does not), else 0.
  Value where(Value condition, Value value, bool holds = true) {
    Value zero = number(value, 0);
    return holds ? choose(condition, value, zero)
                 : choose(condition, zero, value);
  }

  /// What the halves of a block's keys, or values, get.
  Value shareOut(Value before, Value low, Value chosen) {
    return concat(
        {add(low, where(before, chosen)), where(before, chosen, false)},
        kTokens);
  }

  Value goZigzag(Block &block) {
    Queries rows = getQueries();
    Queries first = halfOf(rows, false), second = halfOf(rows, true);
    Block next = rotate(block);
    ValueRange own = build(rows, whole(block), true);
    Value early = wide(half(own[0], 1, false));
    Value late = wide(half(own[0], 1, true));
    block.keyGrad = keys.sum(builder, own[1]);
    block.valueGrad = values.sum(builder, own[2]);
    for (int64_t turns = 1; turns < group.ranks; ++turns) {
      next.keyGrad = block.keyGrad;
      next.valueGrad = block.valueGrad;
      block = next;
      rotateGrads(block);
      if (turns + 1 < group.ranks)
        next = rotate(block);
      Value before = beganBefore(turns);
      Block all = whole(block);
      Block low{half(all.key, 1, false), half(all.value, 1, false), {}};
      Block chosen{choose(before, low.key, half(all.key, 1, true)),
                   choose(before, low.value, half(all.value, 1, true)),
                   {}};
      ValueRange one = build(chooseRows(before, first, second), low, false);
      ValueRange other = build(second, chosen, false);
      addTo(early, where(before, one[0]));
      late = add(late, wide(where(before, one[0], false)));
      addTo(late, other[0]);
      addGrads(block, shareOut(before, one[1], other[1]),
               shareOut(before, one[2], other[2]));
    }
    rotateGrads(block);
    return concat({early, late}, kTokens);
  }

  void attendGathered() {
    Value mask =
        gradient.getCausal() ? causalMask(gradient.getQuery()) : Value();
    Block all{gather(keys), gather(values), addMasks(gradient.getMask(), mask)};
    ValueRange grads = build(getQueries(), all, false);
    replace({grads[0], reduceScatter(keys, grads[1]),
             reduceScatter(values, grads[2])});
  }

  AttentionGradOp gradient;
};

} // namespace

void attendParts(Operation *op, const TokenGroup &group) {
  if (auto attention = dyn_cast<AttentionOp>(op))
    Forward(attention, group).run();
  else
    Backward(cast<AttentionGradOp>(op), group).run();
}

} // namespace zc
