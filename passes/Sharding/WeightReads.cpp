//===- WeightReads.cpp - where weights are read ---------------------------===//
#include "passes/Sharding/WeightReads.h"

#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"
#include "dialects/Train/StateLookup.h"
#include "passes/Precision/States.h"
#include "passes/Sharding/SharedHeads.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

static bool isParameter(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return false;
  auto program = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto symbol = program.getArgAttrOfType<FlatSymbolRefAttr>(
      argument.getArgNumber(), kStateAttr);
  StateOp state = symbol ? findState(program, symbol) : StateOp();
  return state && (state.getKind() == kParameter || state.getKind() == kCopy);
}

/// No sums: these are as costly as what would be gathered.
static bool isCheap(Operation *op) {
  auto rows = dyn_cast<GatherOp>(op);
  return rows ? repeatsHeads(rows)
              : isa<ElementwiseOpInterface, BroadcastOp, ReshapeOp, TransposeOp,
                    SliceOp>(op);
}

/// In the forward's order.
static SmallVector<Operation *> findWeightOps(func::FuncOp program,
                                              Operation *loss) {
  SmallVector<Operation *> found;
  DenseSet<Operation *> ofWeights;
  for (Operation &op : program.getOps()) {
    if (loss && loss->isBeforeInBlock(&op))
      break;
    bool readsWeights = false;
    const bool readsNothingElse =
        isCheap(&op) && llvm::all_of(op.getOperands(), [&](Value operand) {
          Operation *producer = operand.getDefiningOp();
          bool isWeight = isParameter(operand) || ofWeights.contains(producer);
          readsWeights |= isWeight;
          return isWeight ||
                 (producer && producer->hasTrait<OpTrait::ConstantLike>());
        });
    if (!readsNothingElse || !readsWeights)
      continue;
    ofWeights.insert(&op);
    found.push_back(&op);
  }
  return found;
}

/// The first of a result's readers in the forward, or in the backward.
static Operation *findFirstReader(Operation *op, Operation *loss,
                                  bool backward) {
  Operation *first = nullptr;
  for (Operation *user : op->getUsers())
    if ((loss && loss->isBeforeInBlock(user)) == backward &&
        (!first || user->isBeforeInBlock(first)))
      first = user;
  return first;
}

bool isBackward(Operation *use, Operation *loss) {
  return loss && loss->isBeforeInBlock(use);
}

Value roundAsRead(OpBuilder &builder, Value vector,
                  ArrayRef<BlockArgument> arguments, Operation *loss,
                  bool backward) {
  Operation *rounding = nullptr;
  for (BlockArgument argument : arguments)
    for (Operation *user : argument.getUsers()) {
      if (isBackward(user, loss) != backward)
        continue;
      if (!roundsParameter(user))
        return vector;
      rounding = user;
    }
  if (!rounding)
    return vector;
  Value rounded =
      convert(builder, vector.getLoc(), vector,
              getElementTypeOrSelf(rounding->getResult(0).getType()));
  auto made = rounded.getDefiningOp<ConvertOp>();
  made.setRoundsParameter(true);
  made.setOfBackward(backward);
  return rounded;
}

bool makesGathered(Operation *op, Value whole) {
  auto gathered = whole.getDefiningOp<dist::ReshardOp>();
  return gathered && (op == gathered.getOperation() ||
                      op == gathered.getInput().getDefiningOp());
}

void replaceRead(OpOperand &use, Value value) {
  if (value.getType() == use.get().getType())
    return use.set(value);
  use.getOwner()->getResult(0).replaceAllUsesWith(value);
  use.getOwner()->erase();
}

void placeWeightReads(func::FuncOp program, Operation *loss) {
  SmallVector<Operation *> ops = findWeightOps(program, loss);
  // Their readers first, which may be some of them.
  for (Operation *op : llvm::reverse(ops)) {
    if (Operation *first = findFirstReader(op, loss, /*backward=*/true)) {
      Operation *copy = OpBuilder(first).clone(*op);
      op->replaceUsesWithIf(copy, [&](OpOperand &use) {
        return loss->isBeforeInBlock(use.getOwner());
      });
    }
    if (Operation *first = findFirstReader(op, loss, /*backward=*/false))
      op->moveBefore(first);
  }
}

} // namespace zc
