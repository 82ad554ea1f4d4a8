//===- PlacedOps.cpp - which ops have a stage of their own ----------------===//
#include "passes/Pipeline/PlacedOps.h"

#include "dialects/Train/StateLookup.h"
#include "passes/Analysis/ForwardOps.h"
#include "passes/Analysis/Tensors.h"
#include "passes/Autodiff/ActiveValues.h"
#include "passes/Target/Target.h"

#include <algorithm>

using namespace mlir;
using namespace zc::train;

namespace zc {

/// Whether the value stays within a kernel: elementwise ops and what broadcasts
/// for them are fused with the one that reads them.
static bool isFused(Value value) {
  return isa_and_nonnull<ElementwiseOpInterface, BroadcastOp>(
             value.getDefiningOp()) &&
         value.hasOneUse() &&
         isa<ElementwiseOpInterface, BroadcastOp>(*value.user_begin());
}

/// Bytes of memory that an op reads and writes.
static double countBytes(CostOpInterface op) {
  if (!isa<ElementwiseOpInterface, BroadcastOp>(op.getOperation()))
    return op.getBytes();
  double bytes = 0;
  for (Value operand : op->getOperands())
    bytes += isFused(operand) ? 0 : double(bytesOf(operand));
  for (Value result : op->getResults())
    bytes += isFused(result) ? 0 : double(bytesOf(result));
  return bytes;
}

double estimateOpSeconds(Operation *op) {
  auto cost = dyn_cast<CostOpInterface>(op);
  if (!cost || isa<ReshapeOp>(op)) // a view costs nothing
    return 0;
  const Target &target = getTarget(op);
  return std::max(cost.getFlops() / target.flopsOf(op),
                  countBytes(cost) / target.rates().bytes);
}

namespace {

/// Whether an op's operands depend on inputs and on parameters.
struct Sources {
  bool inputs = false, parameters = false;
};

class Placing {
public:
  Placing(func::FuncOp program, double share)
      : block(program.getBody().front()) {
    for (Operation &op : block.without_terminator())
      limit += share * estimateOpSeconds(&op);
  }

  SmallVector<Operation *> run() {
    SmallVector<Operation *> placed;
    for (Operation &op : block.without_terminator()) {
      Sources sources = findSources(&op);
      bool followsPlaced = llvm::any_of(op.getOperands(), [&](Value operand) {
        return isPlaced.contains(operand.getDefiningOp());
      });
      bool isCloned = !followsPlaced &&
                      (!sources.inputs ||
                       (!sources.parameters && secondsWithAll(&op) <= limit));
      if (isCloned)
        continue;
      isPlaced.insert(&op);
      placed.push_back(&op);
    }
    return placed;
  }

private:
  Sources findSources(Operation *op) {
    Sources found;
    for (Value operand : op->getOperands()) {
      if (auto argument = dyn_cast<BlockArgument>(operand)) {
        found.inputs |= !findState(argument);
        found.parameters |= isTrained(argument);
        continue;
      }
      Sources other = known.lookup(operand.getDefiningOp());
      found.inputs |= other.inputs;
      found.parameters |= other.parameters;
    }
    return known[op] = found;
  }

  double secondsWithAll(Operation *op) {
    double sum = 0;
    for (Operation *each : findAncestors(SmallVector<Operation *>{op}))
      sum += estimateOpSeconds(each);
    return sum;
  }

  Block &block;
  double limit = 0;
  DenseMap<Operation *, Sources> known;
  DenseSet<Operation *> isPlaced;
};

} // namespace

SmallVector<Operation *> findPlacedOps(func::FuncOp program, double share) {
  return Placing(program, share).run();
}

} // namespace zc
