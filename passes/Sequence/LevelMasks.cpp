//===- LevelMasks.cpp - masks under which blocks of keys add up -----------===//
//
// A ring adds up blocks of keys by each block's log sum exp. If a mask hides
// all keys of a query by -65504, the sum is lost in that number: float32 has
// 0.004 as the next smaller step there. But a number that all keys of a query
// have in common changes no softmax: less the largest of them, the sums are
// exact. Where the largest is below kFar, scores are lost, too, as on one rank,
// and keys that have it are counted (HiddenKeys.h). float16 has only minus
// infinity below kFar.
//
// The largest number of a causal attention's query is that of the keys up to
// it. A mask of queries and keys gets minus infinity behind these. One of keys
// stays here: it would become one of queries, too, of which a rank would hold
// rows of all keys. There each block is levelled by itself (RankAttention.h).
//
//===----------------------------------------------------------------------===//
#include "passes/Sequence/MaskLevels.h"
#include "passes/Sequence/PartMasks.h"

#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"
#include "passes/Sequence/MaskNumbers.h"
#include "passes/Sequence/TokenDims.h"

#include <limits>

using namespace mlir;
using namespace zc::train;

namespace zc {

namespace {

/// A mask of which all numbers of a query are below this is levelled: above,
/// float32 keeps sums to 6e-5 / 2 of themselves, as exact as scores are.
constexpr double kDeep = -1e3;

class MaskLeveller {
public:
  explicit MaskLeveller(AttentionOp op)
      : op(op), builder(op), loc(op.getLoc()) {}

  void run() {
    Value mask = op.getMask();
    if (op.getCausal()) {
      mask = hideLater(mask);
      op.setCausal(false);
    }
    op.getMaskMutable().assign(level(mask));
  }

private:
  Value number(Value like, double value) {
    return splat(builder, loc, like.getType(), value);
  }

  Value places(int64_t count, ArrayRef<int64_t> shape, int64_t dim) {
    Value iota = IotaOp::create(
        builder, loc, RankedTensorType::get({count}, builder.getI64Type()), 1);
    return broadcast(builder, loc, iota, shape, {dim});
  }

  /// `mask` [.., queries, keys] with minus infinity after each query.
  Value hideLater(Value mask) {
    ArrayRef<int64_t> shape = shapeOf(mask);
    Value ofQueries = places(shape[2], shape, 2);
    Value ofKeys = places(shape[kMaskKeys], shape, kMaskKeys);
    Value later = compare(builder, loc, Predicate::Lt, ofQueries, ofKeys);
    Value hidden = number(mask, -std::numeric_limits<double>::infinity());
    return SelectOp::create(builder, loc, mask.getType(), later, hidden, mask);
  }

  Value level(Value mask) {
    ArrayRef<int64_t> shape = shapeOf(mask);
    Value largest = ReduceOp::create(
        builder, loc,
        withShape(cast<RankedTensorType>(mask.getType()), shape.drop_back()),
        ReduceKind::Max, mask, ArrayRef<int64_t>{kMaskKeys});
    Value all = broadcast(builder, loc, buildLevel(builder, loc, largest),
                          shape, {0, 1, 2});
    return SubOp::create(builder, loc, mask, all);
  }

  AttentionOp op;
  OpBuilder builder;
  Location loc;
};

/// Where scores are not lost in `largest`.
Value isAbove(OpBuilder &builder, Location loc, Value largest) {
  auto type = cast<RankedTensorType>(largest.getType());
  const APFloat lowest = APFloat::getLargest(
      cast<FloatType>(type.getElementType()).getFloatSemantics(),
      /*Negative=*/true);
  if (lowest.convertToDouble() < kFar)
    return compare(builder, loc, Predicate::Ge, largest,
                   splat(builder, loc, type, kFar));
  const double infinity = std::numeric_limits<double>::infinity();
  return compare(builder, loc, Predicate::Gt, largest,
                 splat(builder, loc, type, -infinity));
}

} // namespace

Value buildLevel(OpBuilder &builder, Location loc, Value largest) {
  Type type = largest.getType();
  Value isBelow = compare(builder, loc, Predicate::Lt, largest,
                          splat(builder, loc, type, kDeep));
  Value isDeep =
      AndOp::create(builder, loc, isBelow, isAbove(builder, loc, largest));
  return SelectOp::create(builder, loc, type, isDeep, largest,
                          splat(builder, loc, type, 0));
}

/// Whether a mask's numbers may be such that blocks do not add up.
static bool isUneven(AttentionOp op) {
  return op.getMask() && !saysLastKeys(op.getMask()) &&
         (!op.getCausal() || hasMaskOfQueries(op)) && !hidesAlike(op);
}

void levelMasks(func::FuncOp program,
                llvm::function_ref<bool(Operation *)> goesRound) {
  for (auto op : program.getOps<AttentionOp>())
    if (isUneven(op) && goesRound(op))
      MaskLeveller(op).run();
}

} // namespace zc
