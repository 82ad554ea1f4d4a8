//===- ExpertSlots.cpp - train.expert_slots -------------------------------===//
#include "dialects/Train/Ops/ExpertSupport.h"
#include "dialects/Train/Ops/SparseSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult ExpertSlotsOp::verify() {
  auto groups = tensorTypeOf(getGroups());
  int64_t experts = getExperts(), capacity = getCapacity();
  int64_t choices = getChoices();
  if (groups.getRank() != 2)
    return emitOpError("expected groups of 2 dims, found ") << groups;
  if (experts < 1 || capacity < 1 || choices < 1 ||
      groups.getDimSize(1) % choices != 0)
    return emitOpError("expected experts, room for each, and rows that divide "
                       "into ")
           << choices << " choices, found " << groups;
  int64_t count = groups.getDimSize(0);
  if (failed(verifyType(*this, "slots",
                        tensorTypeOf(getSlots()).clone(groups.getElementType()),
                        groups)) ||
      tensorTypeOf(getRows()).getShape() !=
          ArrayRef<int64_t>{count, experts * capacity} ||
      tensorTypeOf(getCounts()).getShape() != ArrayRef<int64_t>{count, experts})
    return emitOpError("expected slots like its groups, rows of ")
           << count << " x " << experts * capacity << " and counts of " << count
           << " x " << experts;
  return success();
}

ShardingRule ExpertSlotsOp::getShardingRule() {
  ShardingRule rule = ShardingRule::whole(getOperation());
  int group = rule.addFactor(tensorTypeOf(getGroups()).getDimSize(0));
  rule.operandDims[0][0] = group;
  for (auto &dims : rule.resultDims)
    dims[0] = group;
  return rule;
}

double ExpertSlotsOp::getFlops() {
  return double(numElements(getGroups().getType()));
}

namespace {
/// Integers of whatever type, as indices.
struct Integers {
  OpBuilder &builder;
  Location loc;

  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value load(Value buffer, Indices at) {
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                      buildLoad(builder, loc, buffer, at));
  }
  void store(Value value, Value buffer, Indices at) {
    Type type = cast<MemRefType>(buffer.getType()).getElementType();
    buildStore(builder, loc,
               arith::IndexCastOp::create(builder, loc, type, value), buffer,
               at);
  }
  Value isLess(Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, a, b);
  }
  Value add(Value a, Value b) {
    return arith::AddIOp::create(builder, loc, a, b);
  }
  Value mul(Value a, int64_t b) {
    return arith::MulIOp::create(builder, loc, a, constant(b));
  }
};
} // namespace

void ExpertSlotsOp::buildLinalg(OpBuilder &builder, Location loc,
                                ValueRange inputs, ValueRange outputs) {
  Value slots = outputs[0], rows = outputs[1], counts = outputs[2];
  buildFill(builder, loc, slots, -1);
  buildFill(builder, loc, rows, -1);
  buildFill(builder, loc, counts, 0);
  int64_t choices = getChoices(), capacity = getCapacity();
  int64_t tokens = shapeOf(inputs[0])[1] / choices;
  // First choices of all tokens, then the second ones.
  SmallVector<int64_t> sizes{shapeOf(inputs[0])[0], choices, tokens};
  buildLoops(builder, loc, sizes, [&](Indices at) {
    Integers i{builder, loc};
    Value row = i.add(i.mul(toIndexValue(builder, loc, at[2]), choices),
                      toIndexValue(builder, loc, at[1]));
    Value expert = i.load(inputs[0], {at[0], OpFoldResult(row)});
    Value isExpert =
        arith::AndIOp::create(builder, loc, i.isLess(i.constant(-1), expert),
                              i.isLess(expert, i.constant(getExperts())));
    buildIf(builder, loc, isExpert, [&] {
      Value count = i.load(counts, {at[0], OpFoldResult(expert)});
      i.store(i.add(count, i.constant(1)), counts,
              {at[0], OpFoldResult(expert)});
      buildIf(builder, loc, i.isLess(count, i.constant(capacity)), [&] {
        Value slot = i.add(i.mul(expert, capacity), count);
        i.store(slot, slots, {at[0], OpFoldResult(row)});
        i.store(row, rows, {at[0], OpFoldResult(slot)});
      });
    });
  });
}

} // namespace zc::train
