//===- EmptyTensors.cpp - values without elements fold away ---------------===//
#include "passes/Import/EmptyTensors.h"

#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/Ops/ReduceSupport.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace zc;

bool zc::isEmptyTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getNumElements() == 0;
}

static Value withoutData(OpBuilder &builder, Location loc, Type type) {
  return train::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(cast<RankedTensorType>(type),
                             ArrayRef<Attribute>()));
}

static Value identityOf(OpBuilder &builder, train::ReduceOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  Attribute identity =
      train::reductionIdentity(op.getKind(), type.getElementType());
  return train::ConstantOp::create(builder, op.getLoc(),
                                   DenseElementsAttr::get(type, identity));
}

static Value concatOthers(OpBuilder &builder, train::ConcatOp op) {
  SmallVector<Value> parts;
  for (Value part : op->getOperands())
    if (!isEmptyTensor(part.getType()))
      parts.push_back(part);
  if (parts.size() == 1)
    return parts.front();
  return train::ConcatOp::create(builder, op.getLoc(), op.getType(), parts,
                                 op.getDim());
}

/// The result of an op some operands of which have no elements, but which has
/// some itself; null where that means nothing.
static Value foldOp(OpBuilder &builder, Operation *op) {
  auto zeros = [&](Operation *) -> Value {
    return train::splat(builder, op->getLoc(), op->getResult(0).getType(), 0);
  };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](train::ReduceOp reduce) { return identityOf(builder, reduce); })
      .Case(
          [&](train::ConcatOp concat) { return concatOthers(builder, concat); })
      .Case<train::MatmulOp, train::PadOp, train::ConvOp>(zeros)
      .Case<train::ScatterAddOp, train::ScatterReduceOp>(
          [](auto scatter) -> Value { return scatter.getInit(); })
      .Default([](Operation *) { return Value(); });
}

void zc::foldEmptyTensors(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(body)) {
    if (op.hasTrait<OpTrait::IsTerminator>() || isa<train::ConstantOp>(op))
      continue;
    OpBuilder builder(&op);
    for (OpResult result : op.getResults())
      if (isEmptyTensor(result.getType()))
        result.replaceAllUsesWith(
            withoutData(builder, op.getLoc(), result.getType()));
    if (op.getNumResults() != 1 || isEmptyTensor(op.getResult(0).getType()) ||
        !llvm::any_of(op.getOperandTypes(), isEmptyTensor))
      continue;
    if (Value folded = foldOp(builder, &op))
      op.getResult(0).replaceAllUsesWith(folded);
  }
}
