//===- ExpertRooms.cpp - rows of tokens as rooms of experts ---------------===//
#include "passes/Experts/ExpertRooms.h"

#include "dialects/Train/Ops/OpSupport.h"

#include <limits>

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

Value ExpertRooms::enter(OpBuilder &builder, Value rows, bool marksEmpty) {
  ArrayRef<int64_t> inner = shapeOfTensor(rows).drop_front();
  int64_t width = widthOf(inner);
  bool marks = marksEmpty && rooms.divided && !used && width > 0;
  Value sorted = ExchangeRowsOp::create(
      builder, loc,
      withShape(rows.getType(),
                {rooms.groups, rooms.experts * rooms.capacity, width}),
      reshape(builder, loc, rows, {rooms.groups, rooms.rows, width}), places,
      slots, marks);
  sorted = reshape(builder, loc, sorted,
                   {rooms.groups, rooms.experts, rooms.capacity, width});
  sorted = transpose(builder, loc, sorted, {1, 0, 2, 3});
  Value entered =
      reshape(builder, loc, place(builder, sorted, /*toExperts=*/true),
              typeOf(rows.getType()).getShape());
  if (marks) {
    marked = entered;
    findUsed(builder);
  }
  return entered;
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
      slots, places, /*mark_empty=*/false);
  SmallVector<int64_t> shape{rooms.groups * rooms.rows};
  llvm::append_range(shape, inner);
  return reshape(builder, loc, rows, shape);
}

/// -1 where `isEmpty`, else the number of the expert, which `dim` counts.
Value ExpertRooms::ofExperts(OpBuilder &builder, Value isEmpty,
                             ArrayRef<int64_t> shape, int64_t dim) {
  Value ids = IotaOp::create(
      builder, loc,
      RankedTensorType::get({rooms.experts}, builder.getI64Type()), 1);
  ids = convert(builder, loc, ids, builder.getI32Type());
  auto type = RankedTensorType::get(shape, builder.getI32Type());
  return SelectOp::create(builder, loc, type, isEmpty,
                          splat(builder, loc, type, -1),
                          broadcast(builder, loc, ids, shape, {dim}));
}

/// By the first element of each row: an all-to-all of their own would bring to
/// the experts' ranks what the rows themselves can say.
void ExpertRooms::findUsed(OpBuilder &builder) {
  SmallVector<int64_t> all(shapeOfTensor(marked));
  SmallVector<int64_t> shape = {all[0], all[1]};
  Value rows = reshape(builder, loc, marked,
                       {all[0], all[1], widthOf(ArrayRef(all).drop_front(2))});
  SmallVector<int64_t> offsets(3, 0), strides(3, 1);
  Value first = SliceOp::create(
      builder, loc, withShape(marked.getType(), {all[0], all[1], 1}), rows,
      offsets, strides);
  first = reshape(builder, loc, first, shape);
  Value isEmpty = compare(builder, loc, Predicate::Eq, first,
                          splat(builder, loc, first.getType(),
                                -std::numeric_limits<double>::infinity()));
  used = ofExperts(builder, isEmpty, shape, 0);
}

Value ExpertRooms::clear(Value entered) {
  if (entered != marked)
    return entered;
  if (cleared)
    return cleared;
  OpBuilder builder(entered.getContext());
  builder.setInsertionPointAfterValue(used);
  ArrayRef<int64_t> shape = shapeOfTensor(entered);
  Value isEmpty = compare(builder, loc, Predicate::Lt, used,
                          splat(builder, loc, used.getType(), 0));
  cleared =
      SelectOp::create(builder, loc, entered.getType(),
                       broadcast(builder, loc, isEmpty, shape, {0, 1}),
                       splat(builder, loc, entered.getType(), 0), entered);
  return cleared;
}

/// Where each place's row is one, the expert it is of.
Value ExpertRooms::getUsed(OpBuilder &builder) {
  if (used)
    return used;
  SmallVector<int64_t> shape{rooms.groups, rooms.experts, rooms.capacity};
  Value rows = reshape(builder, loc, places, shape);
  Value isEmpty = compare(builder, loc, Predicate::Lt, rows,
                          splat(builder, loc, rows.getType(), 0));
  Value expert = ofExperts(builder, isEmpty, shape, 1);
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
  return GroupedMatmulOp::create(builder, product.getLoc(), type, in, weights,
                                 getUsed(builder), product.getIds(),
                                 ValueRange(), product.getExperts(),
                                 APFloat(filled), transposed,
                                 /*room_groups=*/IntegerAttr(),
                                 /*room_capacity=*/IntegerAttr());
}

} // namespace zc
