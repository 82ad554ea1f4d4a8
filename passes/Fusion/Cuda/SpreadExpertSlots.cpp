//===- SpreadExpertSlots.cpp - --zc-spread-expert-slots -------------------===//
//
// A row's place in its expert's room depends on all rows before it. One after
// the other, a GPU would wait for its memory at each; as running sums over 1,
// 2, 4, ... rows all of them go at once, and in one order.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/ExpertOps.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Fusion/Passes.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_SPREADEXPERTSLOTSPASS
#include "passes/Fusion/Passes.h.inc"

namespace {

/// Counts take 4 bytes for each row and expert, several times over.
constexpr int64_t kMostCounts = int64_t(1) << 24;

/// One op, in integers of 32 bits [groups, rows], rows in the order in which
/// they get room.
class SlotSpreader {
public:
  explicit SlotSpreader(ExpertSlotsOp op)
      : op(op), builder(op), loc(op.getLoc()) {
    auto type = cast<RankedTensorType>(op.getGroups().getType());
    groups = type.getDimSize(0);
    rows = type.getDimSize(1);
    experts = op.getExperts();
    capacity = op.getCapacity();
  }

  int64_t countCounts() const { return groups * rows * experts; }

  void run() {
    Value chosen =
        inOrder(convert(builder, loc, op.getGroups(), builder.getI32Type()));
    Value isOf = isOfExpert(chosen);
    Value counts = sumUp(isOf);
    Value own = MulOp::create(builder, loc, counts, isOf);
    Value place = add(sum(own, 2), -1);
    Value slots = findSlots(chosen, place);
    Value total = slice(counts, {groups, 1, experts}, {0, rows - 1, 0});
    replace(op.getSlots(), backInOrder(slots));
    replace(op.getRows(), findRows(slots));
    replace(op.getCounts(), reshape(builder, loc, total, {groups, experts}));
    op.erase();
  }

private:
  RankedTensorType typeOf(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getI32Type());
  }

  Value number(Value like, double value) {
    return splat(builder, loc, like.getType(), value);
  }

  Value add(Value value, double amount) {
    return AddOp::create(builder, loc, value, number(value, amount));
  }

  Value sum(Value value, int64_t dim) {
    return reduceSum(builder, loc, value, {dim});
  }

  Value count(int64_t size) {
    Value numbers = IotaOp::create(
        builder, loc, RankedTensorType::get({size}, builder.getI64Type()), 1);
    return convert(builder, loc, numbers, builder.getI32Type());
  }

  Value slice(Value value, ArrayRef<int64_t> shape, ArrayRef<int64_t> offsets) {
    SmallVector<int64_t> strides(shape.size(), 1);
    return SliceOp::create(builder, loc, typeOf(shape), value, offsets,
                           strides);
  }

  /// Reorders rows from token by token to all first choices, then all second.
  Value inOrder(Value value) {
    int64_t choices = op.getChoices();
    int64_t count = cast<RankedTensorType>(value.getType()).getDimSize(0);
    value = reshape(builder, loc, value, {count, rows / choices, choices});
    value = transpose(builder, loc, value, {0, 2, 1});
    return reshape(builder, loc, value, {count, rows});
  }

  Value backInOrder(Value value) {
    int64_t choices = op.getChoices();
    value = reshape(builder, loc, value, {groups, choices, rows / choices});
    value = transpose(builder, loc, value, {0, 2, 1});
    return reshape(builder, loc, value, {groups, rows});
  }

  /// [groups, rows, experts]: 1 at a row's own.
  Value isOfExpert(Value chosen) {
    SmallVector<int64_t> shape{groups, rows, experts};
    Value isOf = compare(builder, loc, Predicate::Eq,
                         broadcast(builder, loc, chosen, shape, {0, 1}),
                         broadcast(builder, loc, count(experts), shape, {2}));
    return convert(builder, loc, isOf, builder.getI32Type());
  }

  /// Inclusive prefix sums over the rows.
  Value sumUp(Value value) {
    for (int64_t step = 1; step < rows; step *= 2) {
      Value before = slice(value, {groups, rows - step, experts}, {0, 0, 0});
      before = PadOp::create(builder, loc, value.getType(), before,
                             ArrayRef<int64_t>{0, step, 0},
                             ArrayRef<int64_t>{0, 0, 0});
      value = AddOp::create(builder, loc, value, before);
    }
    return value;
  }

  /// expert capacity + place, or -1 where there is no room or no such expert.
  Value findSlots(Value chosen, Value place) {
    Value begin =
        MulOp::create(builder, loc, chosen, number(chosen, double(capacity)));
    Value slot = AddOp::create(builder, loc, begin, place);
    Value isNone = OrOp::create(
        builder, loc,
        compare(builder, loc, Predicate::Lt, place, number(place, 0)),
        compare(builder, loc, Predicate::Ge, place,
                number(place, double(capacity))));
    return SelectOp::create(builder, loc, slot.getType(), isNone,
                            number(slot, -1), slot);
  }

  /// The row of each place: no two rows have one place. Those without one are
  /// written behind the last, which is left out.
  Value findRows(Value slots) {
    int64_t places = experts * capacity;
    Value isNone =
        compare(builder, loc, Predicate::Lt, slots, number(slots, 0));
    Value at = SelectOp::create(builder, loc, slots.getType(), isNone,
                                number(slots, double(places)), slots);
    Value numbers = inOrder(reshape(builder, loc, count(rows), {1, rows}));
    numbers = broadcast(builder, loc, reshape(builder, loc, numbers, {rows}),
                        {groups, rows}, {1});
    RankedTensorType type = typeOf({groups, places + 1});
    Value table =
        ScatterReduceOp::create(builder, loc, type, ScatterKind::Last,
                                splat(builder, loc, type, -1), at, numbers,
                                /*dim=*/1, /*batch_dims=*/1);
    return slice(table, {groups, places}, {0, 0});
  }

  void replace(Value old, Value made) {
    old.replaceAllUsesWith(
        convert(builder, loc, made, getElementTypeOrSelf(old.getType())));
  }

  ExpertSlotsOp op;
  OpBuilder builder;
  Location loc;
  int64_t groups, rows, experts, capacity;
};

struct SpreadExpertSlots
    : public impl::SpreadExpertSlotsPassBase<SpreadExpertSlots> {
  void runOnOperation() override {
    SmallVector<ExpertSlotsOp> ops;
    getOperation().walk([&](ExpertSlotsOp op) { ops.push_back(op); });
    for (ExpertSlotsOp op : ops) {
      SlotSpreader spreader(op);
      if (spreader.countCounts() > kMostCounts)
        continue;
      spreader.run();
      ++numSpread;
    }
  }
};

} // namespace
} // namespace zc
