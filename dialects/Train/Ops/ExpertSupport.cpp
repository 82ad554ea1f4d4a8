//===- ExpertSupport.cpp - grouped_matmul and its gradient ----------------===//
#include "dialects/Train/Ops/ExpertSupport.h"

using namespace mlir;

namespace zc::train {

static Value loadIndex(OpBuilder &builder, Location loc, Value buffer,
                       OpFoldResult at) {
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    buildLoad(builder, loc, buffer, {at}));
}

void buildExpertLoops(
    OpBuilder &builder, Location loc, Value groups, Value ids,
    llvm::function_ref<void(OpFoldResult, OpFoldResult)> body) {
  buildLoops(builder, loc, {shapeOf(groups).front(), shapeOf(ids).front()},
             [&](Indices at) {
               Value isExpert =
                   arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                         loadIndex(builder, loc, groups, at[0]),
                                         loadIndex(builder, loc, ids, at[1]));
               auto branch = scf::IfOp::create(builder, loc, isExpert,
                                               /*withElseRegion=*/false);
               OpBuilder::InsertionGuard guard(builder);
               builder.setInsertionPointToStart(branch.thenBlock());
               body(at[0], at[1]);
             });
}

LogicalResult verifyExperts(Operation *op, Value groups, Value ids,
                            int64_t rows, int64_t weights, int64_t experts) {
  auto hasCount = [](Value value, int64_t count) {
    auto type = cast<RankedTensorType>(value.getType());
    return type.getRank() == 1 && type.getDimSize(0) == count;
  };
  if (!hasCount(groups, rows))
    return op->emitOpError("expected a group for each of ")
           << rows << " rows, found " << groups.getType();
  if (!hasCount(ids, weights))
    return op->emitOpError("expected an id for each of ")
           << weights << " matrices, found " << ids.getType();
  if (weights > experts)
    return op->emitOpError("has ")
           << weights << " matrices, of " << experts << " experts";
  return success();
}

} // namespace zc::train
