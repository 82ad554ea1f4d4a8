//===- PlacedOps.cpp - which ops have a stage of their own ----------------===//
#include "passes/Pipeline/PlacedOps.h"

#include "dialects/Train/StateLookup.h"
#include "passes/Analysis/ForwardOps.h"
#include "passes/Autodiff/StopGradients.h"
#include "passes/Target/Target.h"

#include <algorithm>

using namespace mlir;
using namespace zc::train;

namespace zc {

double estimateOpSeconds(Operation *op) {
  auto cost = dyn_cast<CostOpInterface>(op);
  if (!cost)
    return 0;
  const MachineRates &rates = getTarget(op).rates();
  return std::max(cost.getFlops() / rates.flops, cost.getBytes() / rates.bytes);
}

static bool isParameter(Value value) {
  StateOp state = findState(value);
  return state && (state.getKind() == kParameter || state.getKind() == kCopy);
}

namespace {

/// What an op's operands follow from.
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
        found.parameters |= isParameter(argument);
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

DenseSet<Value> findActiveValues(func::FuncOp program) {
  DenseSet<Value> active;
  Block &block = program.getBody().front();
  for (BlockArgument argument : block.getArguments())
    if (isParameter(argument))
      active.insert(argument);
  for (Operation &op : block.without_terminator()) {
    bool reached = llvm::any_of(op.getOperands(), [&](Value operand) {
      return active.contains(operand);
    });
    if (!reached || stopsGradient(op))
      continue;
    for (Value result : op.getResults())
      if (isa<FloatType>(getElementTypeOrSelf(result.getType())))
        active.insert(result);
  }
  return active;
}

} // namespace zc
