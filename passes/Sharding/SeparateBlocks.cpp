//===- SeparateBlocks.cpp - blocks computed by themselves -----------------===//
#include "passes/Sharding/SeparateBlocks.h"

#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Analysis/Tensors.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

namespace {

/// A block of a dim.
struct Range {
  int64_t begin, size;
};

/// Computes one block of a value's dim.
class BlockBuilder {
public:
  BlockBuilder(Operation *before, Range range)
      : builder(before), range(range) {}

  /// `whole` is read by blocks alone.
  Value build(DimOf whole) {
    Operation *op = whole.value.getDefiningOp();
    return takesElements(op, whole) ? computeBlock(op, whole.dim)
                                    : slice(whole);
  }

private:
  static ShardingRule ruleOf(Operation *op) {
    return cast<ShardableOpInterface>(op).getShardingRule();
  }

  /// Whether an op computes each element of a dim by itself, from operands.
  static bool takesElements(Operation *op, DimOf whole) {
    if (!op || op->getNumResults() != 1 || op->getNumOperands() == 0 ||
        !isa<ShardableOpInterface>(op))
      return false;
    const ShardingRule rule = ruleOf(op);
    const int factor = rule.resultDims[0][whole.dim];
    return factor != ShardingRule::kWhole &&
           rule.factors[factor].kind == FactorKind::Parallel &&
           rule.factors[factor].size == shapeOf(whole.value)[whole.dim];
  }

  Value computeBlock(Operation *op, int64_t dim) {
    const ShardingRule rule = ruleOf(op);
    const int factor = rule.resultDims[0][dim];
    SmallVector<Value> operands(op->getOperands());
    for (auto [operand, dims] : llvm::zip(operands, rule.operandDims))
      for (auto [place, each] : llvm::enumerate(dims))
        if (each == factor)
          operand = blockOf({operand, int64_t(place)});
    Operation *made = op->clone();
    made->setOperands(operands);
    builder.insert(made);
    SmallVector<int64_t> shape(shapeOf(op->getResult(0)));
    shape[dim] = range.size;
    cast<ShardableOpInterface>(made).setPartTypes(
        TypeRange{withShape(op->getResult(0).getType(), shape)});
    return made->getResult(0);
  }

  /// A value that others read, too, is computed once.
  Value blockOf(DimOf operand) {
    return operand.value.hasOneUse() ? build(operand) : slice(operand);
  }

  Value slice(DimOf whole) {
    SmallVector<int64_t> shape(shapeOf(whole.value));
    SmallVector<int64_t> offsets(shape.size(), 0), strides(shape.size(), 1);
    offsets[whole.dim] = range.begin;
    shape[whole.dim] = range.size;
    return SliceOp::create(builder, whole.value.getLoc(),
                           withShape(whole.value.getType(), shape), whole.value,
                           offsets, strides);
  }

  OpBuilder builder; // in front of what cuts
  Range range;
};

} // namespace

/// The blocks that an op cuts out of a value along a dim; none where it does
/// something else.
static SmallVector<Range> rangesOf(Operation *op, int64_t dim) {
  SmallVector<Range> ranges;
  int64_t begin = 0;
  if (auto split = dyn_cast<SplitOp>(op);
      split && int64_t(split.getDim()) == dim)
    for (Value each : split.getResults()) {
      const int64_t size = shapeOf(each)[dim];
      ranges.push_back({begin, size});
      begin += size;
    }
  auto slice = dyn_cast<SliceOp>(op);
  if (!slice || slice.getStrides()[dim] != 1)
    return ranges;
  ArrayRef<int64_t> from = shapeOf(slice.getInput());
  ArrayRef<int64_t> to = shapeOf(slice.getResult());
  for (int64_t other = 0; other < int64_t(from.size()); ++other)
    if (other != dim && from[other] != to[other])
      return ranges;
  if (from[dim] != to[dim])
    ranges.push_back({slice.getOffsets()[dim], to[dim]});
  return ranges;
}

bool isCutBlock(DimOf block) {
  Operation *op = block.value.getDefiningOp();
  return op && !rangesOf(op, block.dim).empty() &&
         llvm::all_of(op->getOperand(0).getUsers(), [&](Operation *user) {
           return !rangesOf(user, block.dim).empty();
         });
}

SeparateBlocks separateBlocks(DimOf block) {
  SeparateBlocks blocks;
  Value whole = block.value.getDefiningOp()->getOperand(0);
  Operation *first = nullptr;
  for (Operation *user : whole.getUsers())
    if (!first || user->isBeforeInBlock(first))
      first = user;
  for (Operation *user : llvm::to_vector(whole.getUsers()))
    for (auto [range, result] :
         llvm::zip(rangesOf(user, block.dim), user->getResults()))
      blocks.push_back(
          {result, BlockBuilder(first, range).build({whole, block.dim})});
  for (auto &[given, made] : blocks)
    given.replaceAllUsesWith(made);
  return blocks;
}

void restoreBlocks(const SeparateBlocks &blocks) {
  for (auto &[given, made] : blocks)
    Value(made).replaceAllUsesWith(given);
}

} // namespace zc
