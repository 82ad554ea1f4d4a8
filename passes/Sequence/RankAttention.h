//===- RankAttention.h - the pieces of a rank's attention ------*- C++ -*-===//
#ifndef ZC_PASSES_SEQUENCE_RANKATTENTION_H
#define ZC_PASSES_SEQUENCE_RANKATTENTION_H

#include "passes/Sequence/HiddenKeys.h"
#include "passes/Sequence/PartAttention.h"
#include "passes/Sequence/RepeatedOperand.h"
#include "passes/Sequence/TokenDims.h"

#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/Ops/AttentionSupport.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/Tokens.h"

#include <limits>

namespace zc::attention {

using namespace mlir;
using namespace train;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// The log sum exp of a query that sees no key: see train.attention.
constexpr double kSeesNothing = std::numeric_limits<float>::max();

/// Keys with values, and what hides some of them. With their gradients in the
/// backward.
struct Block {
  Value key, value, mask;
  Value keyGrad = Value(), valueGrad = Value();
};

/// Round the ring: forwards blocks come from the ranks before, backwards from
/// those behind.
enum class Way { On, Back };

/// The queries' results over the blocks so far.
struct Rows {
  Value result; // as wide as kernels compute
  Value logSumExp;
  /// With a mask: how many keys count if a query sees none.
  Value count = Value();
};

/// The base of forward and backward.
class PartAttention {
public:
  PartAttention(Operation *op, const TokenGroup &group)
      : op(op), group(group), builder(op), loc(op->getLoc()),
        keys(op->getOperand(1)), values(op->getOperand(2)) {}

protected:
  /// The rank's value goes to the next one, or back to the one before; another
  /// comes from the other side.
  Value rotate(Value value, Way way) { return ofPass(send(value, way)); }

  Value send(Value value, Way way) {
    const int64_t shift = way == Way::On ? 1 : -1;
    return dist::SendReceiveOp::create(builder, loc, value.getType(), value,
                                       group.axes, shift, dist::kActivations);
  }

  Value ofPass(Value made) { return attention::ofPass(op, made); }

  /// A sum of what blocks give, to which later ones add.
  Value running(Value sum) {
    sum.getDefiningOp<AddOp>().setRunningSum(true);
    return sum;
  }

  /// The keys and values of another rank. A mask over keys goes with them; a
  /// mask of queries and keys stays: each rank has its queries' rows.
  Block rotate(const Block &block, Way way) {
    return {rotate(block.key, way), rotate(block.value, way),
            travels(block.mask) ? rotate(block.mask, way) : block.mask};
  }

  static bool travels(Value mask) { return mask && !isOfQueries(mask); }

  static bool isOfQueries(Value mask) { return shapeOf(mask)[2] != 1; }

  /// The rank from which a block has gone `turns` ranks far.
  Value cameFrom(int64_t turns);

  /// The columns of a mask [batch, heads, queries, all keys] that belong to the
  /// block that has gone `turns` ranks far; they differ from rank to rank.
  Value columnsOf(Value mask, int64_t turns);

  /// The keys that the mask of all ranks hides by numbers that are finite;
  /// nothing where no keys must be counted.
  Hidden findHidden(Value mask);

  /// How many of a block's keys count for queries that see none, as `like`, log
  /// sum exps; 1 for every block where none must be counted. `isOwn`: they see
  /// those before them of the rank's own.
  Value countHidden(Value mask, const Hidden &hidden, Value like, bool isOwn);

  /// A block whose mask is less what hides all of its keys, where blocks are
  /// levelled by themselves (MaskNumbers.h): log sum exps are then less by
  /// `less` than those of levelled queries, null: by nothing. The rank's own
  /// block gets a mask of queries and keys, less each query's.
  Block level(const Block &block, const Hidden &queries, bool isOwn,
              Value &less);
  Value levelOwn(Value mask, Value ofQueries);
  /// Numbers [batch, heads, queries or 1] for each key of a mask of such a
  /// type.
  Value asMask(Value ofQueries, Type type);

  /// Whether the block that has gone `turns` ranks far began at a rank before
  /// this one, and not behind it.
  Value beganBefore(int64_t turns) {
    Value own = group.coordinate();
    return compare(builder, loc, Predicate::Ge, own,
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
    return ofPass(cut(value, dim, 2, second));
  }

  /// The `index`-th of `count` equal pieces along a dim.
  Value cut(Value all, int64_t dim, int64_t count, int64_t index) {
    SmallVector<int64_t> shape(shapeOf(all)), offsets(shape.size(), 0);
    shape[dim] /= count;
    offsets[dim] = index * shape[dim];
    return SliceOp::create(builder, loc, withShape(all.getType(), shape), all,
                           offsets, SmallVector<int64_t>(shape.size(), 1));
  }

  /// Values of one shape, one after another along a dim.
  Value concat(ValueRange parts, int64_t dim) {
    SmallVector<int64_t> shape(shapeOf(parts.front()));
    shape[dim] *= int64_t(parts.size());
    return ConcatOp::create(
        builder, loc, withShape(parts.front().getType(), shape), parts, dim);
  }

  /// All ranks' parts of keys, or values, in the order of the tokens, repeated
  /// for queries that share them behind the wire.
  Value gather(const RepeatedOperand &operand);

  /// The chunks of the tokens, of which each rank has two, in their order.
  SmallVector<Value> inOrder(ArrayRef<Value> parts);

  /// A rank's part of all tokens.
  Value partOf(Value all, int64_t rank) {
    if (!isZigzag())
      return cut(all, kTokens, group.ranks, rank);
    const int64_t chunks = 2 * group.ranks;
    return concat({cut(all, kTokens, chunks, rank),
                   cut(all, kTokens, chunks, chunks - 1 - rank)},
                  kTokens);
  }

  /// A rank's part of the ranks' sum of the gradients of what `gather` made, as
  /// the gradient of its own.
  Value reduceScatter(const RepeatedOperand &operand, Value grad);

  /// A rank's part of the ranks' sum.
  Value reduceScatter(Value term, int64_t dim);

  /// The mask of a rank's queries and all keys; `mask` may be null.
  Value maskOfAll(Value mask, bool causal);
  /// The places of a rank's tokens among all: [tokens] of i64.
  Value ownPlaces(int64_t tokens);
  /// The places in the chunk of that number, of `size` tokens.
  Value count(Value chunk, int64_t size);
  /// [1, 1, queries, keys]: 0 up to each query's last key, minus infinity
  /// behind, in the element type of a mask of as many keys.
  Value hiddenBehind(Value last, Value mask);
  /// Two masks' sum.
  Value addMasks(Value a, Value b);

  /// [batch, heads, queries] times [batch, queries, heads, width].
  Value weigh(Value result, Value weight) {
    Value byToken = transpose(builder, loc, weight, {0, 2, 1});
    byToken = convert(builder, loc, byToken,
                      cast<ShapedType>(result.getType()).getElementType());
    return MulOp::create(
        builder, loc, result,
        broadcast(builder, loc, byToken, shapeOf(result), {0, 1, 2}));
  }

  /// Numbers [batch or 1, heads or 1, queries or 1] as log sum exps.
  Value asSums(Value numbers, Value sums) {
    return broadcast(builder, loc, numbers, shapeOf(sums), {0, 1, 2});
  }

  bool isCausal() const { return op->hasAttr("causal"); }
  bool hasAllKeys() const { return getKeySource(op) == KeySource::Whole; }
  bool isGathered() const { return isGather(getKeySource(op)); }
  bool isZigzag() const { return train::isZigzag(getKeySource(op)); }

  /// A block that has gone `turns` ranks far, with what its keys and values are
  /// repeated for.
  Block whole(const Block &block, int64_t turns);
  Value repeat(const RepeatedOperand &operand, Value part);

  /// The first or second half of a block's keys, values and mask.
  Block half(const Block &block, bool second);

  /// The part of the first or second half of the queries.
  Hidden half(const Hidden &hidden, bool second) {
    if (!hidden.number)
      return {};
    return {{half(hidden.number, 2, second), half(hidden.count, 2, second)}};
  }

  Hidden choose(Value condition, const Hidden &onTrue, const Hidden &onFalse) {
    if (!onTrue.number)
      return {};
    return {{choose(condition, onTrue.number, onFalse.number),
             choose(condition, onTrue.count, onFalse.count)}};
  }

  Block choose(Value condition, const Block &onTrue, const Block &onFalse) {
    return {choose(condition, onTrue.key, onFalse.key),
            choose(condition, onTrue.value, onFalse.value),
            onTrue.mask ? choose(condition, onTrue.mask, onFalse.mask)
                        : Value()};
  }

  Operation *op;
  const TokenGroup &group;
  OpBuilder builder;
  Location loc;
  const RepeatedOperand keys, values;
};

} // namespace zc::attention

#endif // ZC_PASSES_SEQUENCE_RANKATTENTION_H
