//===- Replacements.cpp - what propagation puts in place of ops -----------===//
#include "passes/Sharding/Replacements.h"

#include "dialects/Interfaces/OpInterfaces.h"
#include "dialects/Train/OpMarks.h"
#include "dialects/Train/TrainDialect.h"
#include "passes/Sharding/GradientTerms.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

/// The first of the ops behind `before`; null: the block's first.
static Operation *firstBehind(Operation *before, Block *block) {
  return before ? before->getNextNode() : &block->front();
}

/// A parameter's gradient is reduced with its like; other sums of the ops from
/// `first` to `end` are statistics.
static void markStatistics(Operation *first, Operation *end) {
  for (Operation *made = first; made != end; made = made->getNextNode())
    if (!llvm::all_of(made->getResults(), isOnlyReduced))
      dist::setTraffic(made, dist::kStatistics);
}

Operation *makeFiner(Operation *op, const FinerForm &form) {
  OpBuilder builder(op);
  Operation *before = op->getPrevNode();
  SmallVector<Value> finer =
      cast<ShardableOpInterface>(op).decompose(builder, form.parts);
  if (finer.empty())
    return nullptr;
  Operation *first = firstBehind(before, op->getBlock());
  Operation *end = op->getNextNode();
  for (auto [result, value] : llvm::zip_equal(op->getResults(), finer))
    if (auto made = dyn_cast_or_null<OpResult>(value))
      copyResultMarks(result, made);
  op->replaceAllUsesWith(finer);
  op->erase();
  if (form.isOfBatch)
    markStatistics(first, end);
  return first;
}

Operation *makeTerms(Operation *op, const WholeOperands &whole,
                     dist::MeshAttr mesh) {
  OpBuilder builder(op);
  Operation *before = op->getPrevNode();
  for (const WholeOperands::Operand &each : whole.operands) {
    OpOperand &use = op->getOpOperand(each.index);
    use.set(makeTerm(builder, use.get(), each.layout, whole.axes, mesh, op));
  }
  return firstBehind(before, op->getBlock());
}

dist::ReshardOp reduceOnce(Value value, Traffic traffic) {
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  auto reshard = dist::ReshardOp::create(builder, value.getLoc(), value);
  dist::setTraffic(reshard, traffic);
  value.replaceAllUsesExcept(reshard, reshard);
  return reshard;
}

} // namespace zc
