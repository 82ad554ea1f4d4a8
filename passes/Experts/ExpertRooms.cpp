//===- ExpertRooms.cpp - rows of tokens as rooms of experts ---------------===//
#include "passes/Experts/ExpertRooms.h"

#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

static ArrayRef<int64_t> shapeOfTensor(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static int64_t widthOf(ArrayRef<int64_t> inner) {
  return ShapedType::getNumElements(inner);
}

ExpertRooms::ExpertRooms(OpBuilder &builder, Location loc, Value groups,
                         RoomShape shape)
    : loc(loc), rooms(shape) {
  Value each = reshape(builder, loc, groups, {shape.groups, shape.rows});
  auto integers = [&](int64_t count) {
    return RankedTensorType::get({shape.groups, count}, builder.getI32Type());
  };
  auto made = ExpertSlotsOp::create(
      builder, loc,
      TypeRange{integers(shape.rows), integers(shape.experts * shape.capacity),
                integers(shape.experts)},
      each, shape.experts, shape.capacity, shape.choices);
  slots = made.getSlots();
  places = made.getRows();
}

RankedTensorType ExpertRooms::typeOf(Type type) const {
  SmallVector<int64_t> shape{rooms.experts, rooms.groups * rooms.capacity};
  llvm::append_range(shape,
                     cast<RankedTensorType>(type).getShape().drop_front());
  return withShape(type, shape);
}

Value ExpertRooms::place(OpBuilder &builder, Value value, bool toExperts) {
  return rooms.divided ? PlaceExpertsOp::create(builder, loc, value.getType(),
                                                value, toExperts)
                       : value;
}

Value ExpertRooms::enter(OpBuilder &builder, Value rows) {
  ArrayRef<int64_t> inner = shapeOfTensor(rows).drop_front();
  int64_t width = widthOf(inner);
  Value sorted = ExchangeRowsOp::create(
      builder, loc,
      withShape(rows.getType(),
                {rooms.groups, rooms.experts * rooms.capacity, width}),
      reshape(builder, loc, rows, {rooms.groups, rooms.rows, width}), places,
      slots);
  sorted = reshape(builder, loc, sorted,
                   {rooms.groups, rooms.experts, rooms.capacity, width});
  sorted = transpose(builder, loc, sorted, {1, 0, 2, 3});
  return reshape(builder, loc, place(builder, sorted, /*toExperts=*/true),
                 typeOf(rows.getType()).getShape());
}

Value ExpertRooms::leave(OpBuilder &builder, Value value) {
  ArrayRef<int64_t> inner = shapeOfTensor(value).drop_front(2);
  int64_t width = widthOf(inner);
  Value sorted = reshape(builder, loc, value,
                         {rooms.experts, rooms.groups, rooms.capacity, width});
  sorted = transpose(builder, loc, place(builder, sorted, false), {1, 0, 2, 3});
  sorted = reshape(builder, loc, sorted,
                   {rooms.groups, rooms.experts * rooms.capacity, width});
  Value rows = ExchangeRowsOp::create(
      builder, loc,
      withShape(value.getType(), {rooms.groups, rooms.rows, width}), sorted,
      slots, places);
  SmallVector<int64_t> shape{rooms.groups * rooms.rows};
  llvm::append_range(shape, inner);
  return reshape(builder, loc, rows, shape);
}

/// Where each place's row is one, the expert it is of.
Value ExpertRooms::getUsed(OpBuilder &builder) {
  if (used)
    return used;
  SmallVector<int64_t> shape{rooms.groups, rooms.experts, rooms.capacity};
  Value rows = reshape(builder, loc, places, shape);
  Value ids = IotaOp::create(
      builder, loc,
      RankedTensorType::get({rooms.experts}, builder.getI64Type()), 1);
  ids = convert(builder, loc, ids, builder.getI32Type());
  Value isEmpty =
      compare(builder, loc, "lt", rows, splat(builder, loc, rows.getType(), 0));
  Value expert = SelectOp::create(builder, loc, rows.getType(), isEmpty,
                                  splat(builder, loc, rows.getType(), -1),
                                  broadcast(builder, loc, ids, shape, {1}));
  expert = transpose(builder, loc, expert, {1, 0, 2});
  used = reshape(builder, loc, place(builder, expert, /*toExperts=*/true),
                 {rooms.experts, rooms.groups * rooms.capacity});
  return used;
}

Value ExpertRooms::multiply(OpBuilder &builder, Value in,
                            GroupedMatmulOp product, bool skipsEmpty) {
  RankedTensorType type = typeOf(product.getType());
  Value weights = product.getWeights();
  bool transposed = product.getTransposeWeights();
  if (!skipsEmpty)
    return MatmulOp::create(builder, product.getLoc(), type, in, weights,
                            /*transpose_lhs=*/false, transposed);
  double filled = double(rooms.rows) / double(rooms.experts * rooms.capacity);
  return GroupedMatmulOp::create(
      builder, product.getLoc(), type, in, weights, getUsed(builder),
      product.getIds(), product.getExperts(), APFloat(filled), transposed);
}

} // namespace zc
