//===- ExpertOrder.cpp - train.expert_order -------------------------------===//
#include "dialects/Train/Ops/ExpertSupport.h"
#include "dialects/Train/Ops/SparseSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult ExpertOrderOp::verify() {
  auto groups = tensorTypeOf(getGroups()), ids = tensorTypeOf(getIds());
  if ((groups.getRank() != 1 && groups.getRank() != 2) || ids.getRank() != 1 ||
      (groups.getRank() == 2 && groups.getDimSize(0) != ids.getDimSize(0)))
    return emitOpError("expected groups [rows] or [experts, rows] and ids "
                       "[experts], found ")
           << groups << " and " << ids;
  if (tensorTypeOf(getEnds()).getShape() != ids.getShape())
    return emitOpError("expected ends like its ids, found ")
           << getEnds().getType();
  if (getType().getShape() != ArrayRef<int64_t>{groups.getNumElements()})
    return emitOpError("expected a result of ")
           << groups.getNumElements() << " rows, found " << getType();
  return success();
}

ShardingRule ExpertOrderOp::getShardingRule() {
  return ShardingRule::whole(getOperation());
}

double ExpertOrderOp::getFlops() {
  return double(numElements(getGroups().getType()));
}

void ExpertOrderOp::buildLinalg(OpBuilder &builder, Location loc,
                                ValueRange inputs, ValueRange outputs) {
  Value groups = inputs[0], ids = inputs[1], ends = inputs[2];
  int64_t experts = shapeOf(ids)[0];
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  auto load = [&](Value buffer, Indices at) -> Value {
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                      buildLoad(builder, loc, buffer, at));
  };
  auto store = [&](Value value, Value buffer, Indices at) {
    Type type = cast<MemRefType>(buffer.getType()).getElementType();
    buildStore(builder, loc,
               arith::IndexCastOp::create(builder, loc, type, value), buffer,
               at);
  };
  Type element = cast<MemRefType>(outputs[0].getType()).getElementType();
  buildFill(builder, loc, outputs[0], 0);
  // The place of the next row.
  Value next = buildTemporary(builder, loc, {1}, element);
  OpFoldResult first = builder.getIndexAttr(0);
  store(number(0), next, {first});
  SmallVector<int64_t> sizes(shapeOf(groups));
  bool sorted = sizes.size() == 2;
  Value width = number(sizes.back());
  // Ids that are equal, which they never are, would find rows twice.
  Value count = number(ShapedType::getNumElements(sizes));
  auto place = [&](Value isWanted, Value row) {
    Value at = load(next, {first});
    Value isLeft = arith::CmpIOp::create(builder, loc,
                                         arith::CmpIPredicate::slt, at, count);
    isLeft = arith::AndIOp::create(builder, loc, isWanted, isLeft);
    buildIf(builder, loc, isLeft, [&] {
      store(row, outputs[0], {OpFoldResult(at)});
      store(arith::AddIOp::create(builder, loc, at, number(1)), next, {first});
    });
  };
  auto isEqual = [&](Indices at, OpFoldResult expert) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                 load(groups, at), load(ids, {expert}));
  };
  auto rowAt = [&](Indices at) -> Value {
    Value row = toIndexValue(builder, loc, at.back());
    if (!sorted)
      return row;
    Value before = arith::MulIOp::create(
        builder, loc, toIndexValue(builder, loc, at[0]), width);
    return arith::AddIOp::create(builder, loc, before, row);
  };
  // An expert's rows are its own, or any; those of none come last.
  SmallVector<int64_t> all{experts, sizes.back()};
  buildLoops(builder, loc, all, [&](Indices at) {
    Indices row = sorted ? at : at.drop_front();
    place(isEqual(row, at[0]), rowAt(row));
  });
  Value end = load(ends, {OpFoldResult(builder.getIndexAttr(experts - 1))});
  Value some = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                     end, count);
  buildIf(builder, loc, some, [&] {
    buildLoops(builder, loc, sizes, [&](Indices at) {
      Value isOne;
      if (sorted) {
        isOne = isEqual(at, at[0]);
      } else {
        for (int64_t expert = 0; expert < experts; ++expert) {
          Value is = isEqual(at, OpFoldResult(builder.getIndexAttr(expert)));
          isOne = isOne ? arith::OrIOp::create(builder, loc, isOne, is) : is;
        }
      }
      Value no =
          arith::ConstantIntOp::create(builder, loc, builder.getI1Type(), 0);
      place(arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, isOne,
                                  no),
            rowAt(at));
    });
  });
}

} // namespace zc::train
