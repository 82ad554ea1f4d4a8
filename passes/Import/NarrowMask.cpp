//===- NarrowMask.cpp - masks that are the same for all queries -----------===//
#include "passes/Import/NarrowMask.h"

#include "dialects/Train/Ops/OpSupport.h"
#include "mlir/IR/Matchers.h"
#include "passes/Import/Lowering/TensorBuilder.h"
#include "passes/Import/MaskParts.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

/// A mask is computed by few ops; a longer chain is something else.
static constexpr int kNarrowDepth = 12;

/// With one query.
static RankedTensorType narrowType(Value value) {
  SmallVector<int64_t> shape(typeOf(value).getShape());
  shape[shape.size() - 2] = 1;
  return RankedTensorType::get(shape, typeOf(value).getElementType());
}

static DenseElementsAttr splatOf(Value value) {
  DenseElementsAttr constant;
  return matchPattern(value, m_Constant(&constant)) && constant.isSplat()
             ? constant
             : DenseElementsAttr();
}

static bool isTrue(Value value) { return matchNumber(value).value_or(0) != 0; }

/// Whether the dim of queries is repeated.
static bool repeatsQueries(BroadcastOp op) {
  const int64_t queries = typeOf(op.getResult()).getRank() - 2;
  for (auto [index, dim] : llvm::enumerate(op.getDims()))
    if (dim == queries)
      return typeOf(op.getInput()).getDimSize(int64_t(index)) == 1;
  return true;
}

static Value narrow(OpBuilder &builder, Value value, int depth);

/// Repeats a mask of one query, over samples and heads.
static Value narrowSpread(OpBuilder &builder, BroadcastOp op, int depth) {
  Value input = op.getInput();
  const int64_t rank = typeOf(input).getRank();
  if (!repeatsQueries(op)) {
    if (rank < 2 ||
        op.getDims()[rank - 2] != typeOf(op.getResult()).getRank() - 2)
      return {};
    input = narrow(builder, input, depth - 1);
  }
  return input ? BroadcastOp::create(builder, op.getLoc(),
                                     narrowType(op.getResult()), input,
                                     op.getDims())
                     .getResult()
               : Value();
}

static Value narrow(OpBuilder &builder, Value value, int depth) {
  const RankedTensorType type = typeOf(value);
  if (type.getRank() < 2 || depth == 0)
    return {};
  if (type.getDimSize(type.getRank() - 2) == 1)
    return value;
  const RankedTensorType narrowed = narrowType(value);
  Location loc = value.getLoc();
  if (DenseElementsAttr splat = splatOf(value))
    return ConstantOp::create(builder, loc, splat.resizeSplat(narrowed));
  Operation *op = value.getDefiningOp();
  if (auto spread = dyn_cast_or_null<BroadcastOp>(op))
    return narrowSpread(builder, spread, depth);
  if (auto both = dyn_cast_or_null<AndOp>(op))
    for (unsigned side : {0, 1})
      if (isTrue(both->getOperand(side)))
        return narrow(builder, both->getOperand(1 - side), depth - 1);
  if (!isa_and_nonnull<ElementwiseOpInterface>(op) || op->getNumResults() != 1)
    return {};
  IRMapping mapping;
  for (Value operand : op->getOperands()) {
    if (typeOf(operand).getShape() != type.getShape())
      return {};
    Value made = narrow(builder, operand, depth - 1);
    if (!made)
      return {};
    mapping.map(operand, made);
  }
  Operation *copy = builder.clone(*op, mapping);
  copy->getResult(0).setType(narrowed);
  return copy->getResult(0);
}

Value narrowMask(OpBuilder &builder, Value mask) {
  return narrow(builder, mask, kNarrowDepth);
}

} // namespace zc
