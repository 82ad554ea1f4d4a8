//===- ExpertSupport.cpp - grouped_matmul and its gradient ----------------===//
#include "dialects/Train/Ops/ExpertSupport.h"

#include "dialects/Train/Ops/SparseSupport.h"

using namespace mlir;

namespace zc::train {

static Value loadIndex(OpBuilder &builder, Location loc, Value buffer,
                       Indices at) {
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    buildLoad(builder, loc, buffer, at));
}

void buildExpertLoops(OpBuilder &builder, Location loc, Value groups, Value ids,
                      ExpertBody body) {
  SmallVector<int64_t> sizes(shapeOf(groups));
  bool sorted = sizes.size() == 2;
  if (!sorted)
    sizes.push_back(shapeOf(ids).front());
  buildLoops(builder, loc, sizes, [&](Indices at) {
    Indices row = sorted ? at : at.take_front(1);
    OpFoldResult expert = sorted ? at[0] : at[1];
    Value isExpert =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                              loadIndex(builder, loc, groups, row),
                              loadIndex(builder, loc, ids, {expert}));
    buildIf(builder, loc, isExpert, [&] { body(row, expert); });
  });
}

Value buildRow(OpBuilder &builder, Location loc, Value rows, Indices at) {
  return buildSlice(builder, loc, rows, dimRange(0, at.size()), at);
}

void addWholeOperands(ShardingRule &rule, ValueRange operands) {
  for (Value operand : operands) {
    rule.operandDims.emplace_back(tensorTypeOf(operand).getRank(), -1);
    rule.linearity.push_back(Linearity::None);
  }
}

LogicalResult verifyExperts(Operation *op, ValueRange order, Value rows,
                            Value groups, Value ids, int64_t weights,
                            int64_t experts) {
  ArrayRef<int64_t> places = tensorTypeOf(rows).getShape().drop_back();
  if (!order.empty() &&
      (order.size() != 2 ||
       tensorTypeOf(order[0]).getShape() !=
           ArrayRef<int64_t>{ShapedType::getNumElements(places)} ||
       tensorTypeOf(order[1]).getShape() != ArrayRef<int64_t>{weights}))
    return op->emitOpError("expected an order of all rows of ")
           << rows.getType() << " and the ends of " << weights << " experts";
  if (tensorTypeOf(groups).getShape() != places)
    return op->emitOpError("expected a group for each of the rows of ")
           << rows.getType() << ", found " << groups.getType();
  if (tensorTypeOf(ids).getShape() != ArrayRef<int64_t>{weights})
    return op->emitOpError("expected an id for each of ")
           << weights << " matrices, found " << ids.getType();
  if (places.size() == 2 && places[0] != weights)
    return op->emitOpError("has ")
           << weights << " matrices, for sorted rows of " << places[0];
  if (weights > experts)
    return op->emitOpError("has ")
           << weights << " matrices, of " << experts << " experts";
  return success();
}

// A rank with a part of the experts multiplies their part of the rows, which is
// as large where the rows are spread evenly.
double expertShare(Value rows, int64_t weights, int64_t experts,
                   double filled) {
  return tensorTypeOf(rows).getRank() == 3 ? filled
                                           : double(weights) / double(experts);
}

} // namespace zc::train
