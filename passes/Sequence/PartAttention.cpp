//===- PartAttention.cpp - attention of tokens that ranks divide ----------===//
//
// With l = log sum exp of a block's scores and o its result, blocks of keys add
// up to all: l' = log(e^l1 + e^l2), o' = e^(l1 - l') o1 + e^(l2 - l') o2. In
// the gradients, p_ij = e^(s_ij - l'_i) does not depend on blocks: with all
// tokens' result and log sum exp, each block gives terms of sums.
//
// A ring of p ranks forwards has p - 1 turns: a rank's own keys and values are
// at hand first, those of the rank behind it last. The backward begins with
// these and goes round the other way, so that no rank has kept its own: they
// come back to it with the last of p - 1 turns, and so do their gradients, to
// which every rank on the way adds what its queries give.
//
// All ranks run one program. A block that a causal mask hides from some of them
// adds nothing there: its log sum exp is minus infinity forwards, and the
// largest number backwards.
//
//===----------------------------------------------------------------------===//
#include "passes/Sequence/RankAttention.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

namespace attention {
namespace {

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

class Forward : public PartAttention {
public:
  Forward(AttentionOp op, const TokenGroup &group)
      : PartAttention(op, group), attention(op) {}

  void run() {
    if (hasAllKeys())
      return (void)attention.removeTokensAttr();
    if (isGathered())
      return attendGathered();
    Block block{keys.getSource(), values.getSource(), attention.getMask()};
    hidden = findHidden(block.mask);
    Rows rows = isZigzag() ? goZigzag(block) : goRound(block);
    if (attention.getMask()) {
      Value none = compare(builder, loc, Predicate::Eq, rows.logSumExp,
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
    SmallVector<int64_t> results(shapeOf(attention.getResult()));
    sums[2] = results[kTokens] = shapeOf(query)[kTokens];
    return AttentionOp::create(
        builder, loc, withShape(attention.getResult().getType(), results),
        withShape(attention.getLogSumExp().getType(), sums), query, block.key,
        block.value, block.mask, attention.getScaleAttr(),
        causal ? builder.getUnitAttr() : UnitAttr(), /*tokens=*/StringAttr());
  }

  /// `hidden`: of those queries; `isOwn`: the block's keys are the rank's.
  Rows attend(Value query, const Hidden &hidden, const Block &block,
              bool isOwn) {
    Value less;
    AttentionOp own =
        build(query, level(block, hidden, isOwn, less), isOwn && isCausal());
    Rows rows{widen(builder, loc, own.getResult()), own.getLogSumExp()};
    if (block.mask) {
      Value none = compare(builder, loc, Predicate::Ge, rows.logSumExp,
                           number(rows.logSumExp, kSeesNothing));
      rows.logSumExp =
          SelectOp::create(builder, loc, rows.logSumExp.getType(), none,
                           number(rows.logSumExp, -kInfinity), rows.logSumExp);
      if (hidden.number || !isCausal())
        rows.count = countHidden(block.mask, hidden, rows.logSumExp, isOwn);
    }
    if (less)
      rows.logSumExp = SubOp::create(builder, loc, rows.logSumExp,
                                     asSums(less, rows.logSumExp));
    return rows;
  }

  /// Rows that see the block only where `condition` holds (or does not).
  Rows where(Value condition, Rows rows, bool holds = true) {
    auto only = [&](Value value, double otherwise) {
      Value other = number(value, otherwise);
      return holds ? choose(condition, value, other)
                   : choose(condition, other, value);
    };
    rows.logSumExp = only(rows.logSumExp, -kInfinity);
    if (rows.count)
      rows.count = only(rows.count, 0);
    return rows;
  }

  /// The shares of two rows' sums, where a mask hides all of a query's keys by
  /// finite numbers: scores are lost in them, and keys count alike.
  void shareAlike(const Rows &a, const Rows &b, Value &first, Value &second) {
    Value least = MinOp::create(builder, loc, a.logSumExp, b.logSumExp);
    Value most = MaxOp::create(builder, loc, a.logSumExp, b.logSumExp);
    Value hidden = AndOp::create(
        builder, loc,
        compare(builder, loc, Predicate::Lt, most, number(most, kAllHidden)),
        compare(builder, loc, Predicate::Ge, least,
                number(least, -kSeesNothing)));
    // Keys of later blocks may be hidden by a larger number: none counts here.
    Value all = MaxOp::create(builder, loc,
                              AddOp::create(builder, loc, a.count, b.count),
                              number(most, 1));
    auto share = [&](Value other, Value count) -> Value {
      return SelectOp::create(builder, loc, other.getType(), hidden,
                              DivOp::create(builder, loc, count, all), other);
    };
    first = share(first, a.count);
    second = share(second, b.count);
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
    Value count;
    if (a.count && b.count) {
      shareAlike(a, b, first, second);
      count = AddOp::create(builder, loc, a.count, b.count);
    }
    Value result = AddOp::create(builder, loc, weigh(a.result, first),
                                 weigh(b.result, second));
    return {running(result),
            running(AddOp::create(builder, loc, largest,
                                  LogOp::create(builder, loc, sum))),
            count};
  }

  Rows goRound(Block block) {
    Value query = attention.getQuery();
    Block next = rotate(block, Way::On);
    Rows rows = attend(query, hidden, whole(block, 0), /*isOwn=*/true);
    for (int64_t turns = 1; turns < group.ranks; ++turns) {
      block = next;
      if (turns + 1 < group.ranks)
        next = rotate(block, Way::On);
      Rows more = attend(query, hidden, whole(block, turns), false);
      rows = add(rows, isCausal() ? where(beganBefore(turns), more) : more);
    }
    noteEnd(block);
    return rows;
  }

  Rows halfOf(const Rows &rows, bool second) {
    return {half(rows.result, 1, second), half(rows.logSumExp, 2, second),
            rows.count ? half(rows.count, 2, second) : Value()};
  }

  /// Rank r has chunks r and 2p - 1 - r of 2p: half of each block's scores are
  /// its own to compute, whichever rank the block comes from.
  Rows goZigzag(Block block) {
    Value query = attention.getQuery();
    Block next = rotate(block, Way::On);
    Rows own = attend(query, hidden, whole(block, 0), /*isOwn=*/true);
    Rows early = halfOf(own, false), late = halfOf(own, true);
    Value first = half(query, 1, false), second = half(query, 1, true);
    Hidden ofFirst = half(hidden, false), ofSecond = half(hidden, true);
    for (int64_t turns = 1; turns < group.ranks; ++turns) {
      block = next;
      if (turns + 1 < group.ranks)
        next = rotate(block, Way::On);
      Value before = beganBefore(turns);
      Block all = whole(block, turns), low = half(all, false);
      Block chosen = choose(before, low, half(all, true));
      Rows one = attend(choose(before, first, second),
                        choose(before, ofFirst, ofSecond), low, false);
      Rows other = attend(second, ofSecond, chosen, false);
      early = add(early, where(before, one));
      late = add(add(late, where(before, one, false)), other);
    }
    noteEnd(block);
    return {concat({early.result, late.result}, 1),
            concat({early.logSumExp, late.logSumExp}, 2)};
  }

  /// For the backward, which begins with it.
  void noteEnd(const Block &block) {
    auto note = [&](Value own, Value end) {
      group.ends[{own, group.axes}] = end;
    };
    note(keys.getSource(), block.key);
    note(values.getSource(), block.value);
    if (travels(block.mask))
      note(attention.getMask(), block.mask);
  }

  void attendGathered() {
    Block all{gather(keys), gather(values),
              maskOfAll(attention.getMask(), attention.getCausal())};
    AttentionOp own = build(attention.getQuery(), all, false);
    replace(own.getResult(), own.getLogSumExp());
  }

  AttentionOp attention;
  Hidden hidden;
};

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

class Backward : public PartAttention {
public:
  Backward(AttentionGradOp op, const TokenGroup &group)
      : PartAttention(op, group), gradient(op) {}

  void run() {
    if (hasAllKeys())
      return attendWhole();
    if (isGathered())
      return attendGathered();
    Block block = beginAtEnd();
    hidden = findHidden(gradient.getMask());
    Value queryGrad = isZigzag() ? goZigzag(block) : goRound(block);
    queryGrad = narrow(builder, loc, queryGrad, gradient.getQuery().getType());
    replace({queryGrad, keys.place(builder, block.keyGrad),
             values.place(builder, block.valueGrad)});
  }

private:
  /// Queries with all that the gradient asks of them.
  struct Queries {
    Value query, result, logSumExp, grad;
    Hidden hidden = Hidden();
  };

  void replace(ValueRange values) {
    gradient->replaceAllUsesWith(values);
    gradient.erase();
  }

  /// The block that the forward's ring has ended with.
  Block beginAtEnd() {
    Value mask = gradient.getMask();
    return {endOf(keys.getSource()), endOf(values.getSource()),
            travels(mask) ? endOf(mask) : mask};
  }

  /// Where the forward had it from elsewhere, one turn brings it.
  Value endOf(Value own) {
    Value end = group.ends.lookup({own, group.axes});
    return end ? end : rotate(own, Way::Back);
  }

  /// A block comes back from the rank behind, the rank's own with the last
  /// turn; but its own mask of keys, a part of its input, it has all along.
  Block comeBack(const Block &block, int64_t turns) {
    if (turns > 1)
      return rotate(block, Way::Back);
    return {rotate(block.key, Way::Back), rotate(block.value, Way::Back),
            gradient.getMask()};
  }

  Queries getQueries() {
    return {gradient.getQuery(), gradient.getResult(), gradient.getLogSumExp(),
            gradient.getGrad(), hidden};
  }

  ValueRange differentiate(const Queries &rows, const Block &block,
                           bool causal) {
    auto op = AttentionGradOp::create(
        builder, loc, rows.query.getType(), block.key.getType(),
        block.value.getType(), rows.query, block.key, block.value, rows.result,
        rows.logSumExp, rows.grad, block.mask, gradient.getScaleAttr(),
        causal ? builder.getUnitAttr() : UnitAttr(), /*tokens=*/StringAttr());
    return op->getResults();
  }

  Value add(Value a, Value b) { return AddOp::create(builder, loc, a, b); }

  /// Widens to the compute type, to add up one term per rank.
  Value wide(Value grad) { return widen(builder, loc, grad); }

  void addTo(Value &sum, Value term) {
    sum = sum ? running(add(sum, wide(term))) : wide(term);
  }

  void addGrads(Block &block, Value keyGrad, Value valueGrad) {
    auto addTo = [&](Value &sum, Value term) {
      sum = sum ? add(sum, term) : term;
    };
    addTo(block.keyGrad, keys.sum(builder, keyGrad));
    addTo(block.valueGrad, values.sum(builder, valueGrad));
  }

  /// Gradients travel behind the keys and values that they belong to.
  void sendGrads(const Block &block, Block &next) {
    next.keyGrad = send(block.keyGrad, Way::Back);
    next.valueGrad = send(block.valueGrad, Way::Back);
  }

  /// Where a mask hides all of a query's keys by finite numbers, those of a
  /// block count as if there were no others. A block's gradients are linear in
  /// the result's, so this takes its share of the keys that count.
  Value gradOfBlock(const Queries &rows, Value mask, bool isOwn) {
    Value sums = rows.logSumExp;
    Value isHidden =
        compare(builder, loc, Predicate::Lt, sums, number(sums, kAllHidden));
    auto whereHidden = [&](Value count) -> Value {
      return SelectOp::create(builder, loc, sums.getType(), isHidden, count,
                              number(sums, 1));
    };
    Value count = countHidden(mask, rows.hidden, sums, isOwn);
    Value total = rows.hidden.count ? asSums(rows.hidden.count, sums)
                                    : number(sums, double(group.ranks));
    Value share =
        DivOp::create(builder, loc, whereHidden(count), whereHidden(total));
    return weigh(rows.grad, share);
  }

  /// The gradients of a block with the keys of other ranks, or the rank's own.
  ValueRange build(Queries rows, const Block &block, bool isOwn) {
    if (block.mask && (rows.hidden.number || !isCausal()))
      rows.grad = gradOfBlock(rows, block.mask, isOwn);
    Value less;
    const Block levelled = level(block, rows.hidden, isOwn, less);
    if (less) {
      // The queries' level is below the block's where they see nothing of the
      // block: it must not make their sums those of rows that see nothing.
      less = MaxOp::create(builder, loc, less, number(less, 0));
      rows.logSumExp = add(rows.logSumExp, asSums(less, rows.logSumExp));
    }
    return differentiate(rows, levelled, isOwn && isCausal());
  }

  Value goRound(Block &block) {
    Queries rows = getQueries();
    Value queryGrad;
    for (int64_t turns = group.ranks - 1; turns > 0; --turns) {
      Block next = comeBack(block, turns);
      Queries seen = rows;
      if (isCausal())
        seen.logSumExp = choose(beganBefore(turns), rows.logSumExp,
                                number(rows.logSumExp, kSeesNothing));
      ValueRange terms = build(seen, whole(block, turns), false);
      addTo(queryGrad, terms[0]);
      addGrads(block, terms[1], terms[2]);
      sendGrads(block, next);
      block = next;
    }
    ValueRange own = build(rows, whole(block, 0), /*isOwn=*/true);
    addTo(queryGrad, own[0]);
    addGrads(block, own[1], own[2]);
    return queryGrad;
  }

  Queries halfOf(const Queries &rows, bool second) {
    return {half(rows.query, 1, second), half(rows.result, 1, second),
            half(rows.logSumExp, 2, second), half(rows.grad, 1, second),
            half(rows.hidden, second)};
  }

  Queries chooseRows(Value condition, const Queries &a, const Queries &b) {
    return {choose(condition, a.query, b.query),
            choose(condition, a.result, b.result),
            choose(condition, a.logSumExp, b.logSumExp),
            choose(condition, a.grad, b.grad),
            choose(condition, a.hidden, b.hidden)};
  }

  /// `value` where the condition holds (or does not), else 0.
  Value where(Value condition, Value value, bool holds = true) {
    Value zero = number(value, 0);
    return holds ? choose(condition, value, zero)
                 : choose(condition, zero, value);
  }

  /// The gradients of the two halves of a block's keys, or values.
  Value shareOut(Value before, Value low, Value chosen) {
    return concat(
        {add(low, where(before, chosen)), where(before, chosen, false)},
        kTokens);
  }

  Value goZigzag(Block &block) {
    Queries rows = getQueries();
    Queries first = halfOf(rows, false), second = halfOf(rows, true);
    Value early, late;
    for (int64_t turns = group.ranks - 1; turns > 0; --turns) {
      Block next = comeBack(block, turns);
      Value before = beganBefore(turns);
      Block all = whole(block, turns), low = half(all, false);
      Block chosen = choose(before, low, half(all, true));
      ValueRange one = build(chooseRows(before, first, second), low, false);
      ValueRange other = build(second, chosen, false);
      addTo(early, where(before, one[0]));
      addTo(late, add(wide(where(before, one[0], false)), wide(other[0])));
      addGrads(block, shareOut(before, one[1], other[1]),
               shareOut(before, one[2], other[2]));
      sendGrads(block, next);
      block = next;
    }
    ValueRange own = build(rows, whole(block, 0), /*isOwn=*/true);
    addTo(early, half(own[0], 1, false));
    addTo(late, half(own[0], 1, true));
    addGrads(block, own[1], own[2]);
    return concat({early, late}, kTokens);
  }

  /// Each rank's queries give a term of the gradients of keys that all have.
  void attendWhole() {
    gradient.removeTokensAttr();
    builder.setInsertionPointAfter(gradient);
    for (Value term : gradient->getResults().drop_front()) {
      auto sum =
          dist::AllReduceOp::create(builder, loc, term, group.axes,
                                    dist::kActivations, DenseI64ArrayAttr());
      term.replaceAllUsesExcept(sum.getResult(), sum);
    }
  }

  void attendGathered() {
    Block all{gather(keys), gather(values),
              maskOfAll(gradient.getMask(), gradient.getCausal())};
    ValueRange grads = differentiate(getQueries(), all, false);
    replace({grads[0], reduceScatter(keys, grads[1]),
             reduceScatter(values, grads[2])});
  }

  AttentionGradOp gradient;
  Hidden hidden;
};

} // namespace
} // namespace attention

void attendParts(Operation *op, const TokenGroup &group) {
  if (auto forward = dyn_cast<AttentionOp>(op))
    attention::Forward(forward, group).run();
  else
    attention::Backward(cast<AttentionGradOp>(op), group).run();
}

} // namespace zc
