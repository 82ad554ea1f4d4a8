//===- ForwardOps.cpp - which ops of a program are its forward ------------===//
#include "passes/Analysis/ForwardOps.h"

#include "dialects/Train/ProgramBuilder.h"
#include "dialects/Train/StateLookup.h"
#include "passes/Analysis/Messages.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

DenseSet<Operation *> findAncestors(SmallVector<Operation *> roots) {
  DenseSet<Operation *> seen;
  while (!roots.empty()) {
    Operation *op = roots.pop_back_val();
    if (!op || !seen.insert(op).second)
      continue;
    for (Value operand : op->getOperands())
      roots.push_back(operand.getDefiningOp());
  }
  return seen;
}

bool leadsTo(Operation *op, Operation *other) {
  SmallVector<Operation *> work = {op};
  DenseSet<Operation *> seen;
  while (!work.empty())
    for (Operation *user : work.pop_back_val()->getUsers()) {
      if (user == other)
        return true;
      if (seen.insert(user).second)
        work.push_back(user);
    }
  return false;
}

// With accumulation the loss is part of a sum that is a state.
static bool isLoss(func::FuncOp program, unsigned result) {
  auto metric = program.getResultAttrOfType<StringAttr>(result, kMetricAttr);
  if (metric)
    return metric.getValue() == kLoss;
  auto state =
      program.getResultAttrOfType<FlatSymbolRefAttr>(result, kStateAttr);
  return state && state.getValue() == (kAccumulatedPrefix + kLoss).str();
}

// In a role of a pipeline, activations that others go on with are its end.
static bool endsForward(func::FuncOp program, unsigned result) {
  auto sent = getSent(program, result);
  return isLoss(program, result) || (sent && !sent->isGradient);
}

/// Whether recomputation keeps its results.
static bool isOfOtherRanks(Operation &op) {
  auto region = dyn_cast<FusedOp>(op);
  return region ? region.getOfOtherRanks() : op.hasAttr(kOfOtherRanksAttr);
}

DenseSet<Operation *> findForwardOps(func::FuncOp program) {
  SmallVector<Operation *> ends;
  Operation *end = program.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(end->getOperands()))
    if (endsForward(program, index))
      ends.push_back(value.getDefiningOp());
  // Only the backward may read a log sum exp of scores.
  for (Operation &op : program.getOps())
    if (isOfOtherRanks(op))
      ends.push_back(&op);
  return findAncestors(std::move(ends));
}

bool isGradientSum(func::FuncOp program, unsigned result) {
  auto symbol =
      program.getResultAttrOfType<FlatSymbolRefAttr>(result, kStateAttr);
  StateOp state = symbol ? findState(program, symbol) : StateOp();
  return state && state.getKind() == kAccumulator && !isLoss(program, result) &&
         symbol.getValue() != (kAccumulatedPrefix + kLossCount).str();
}

bool isReceivedCount(func::FuncOp program, unsigned result) {
  auto state =
      program.getResultAttrOfType<FlatSymbolRefAttr>(result, kStateAttr);
  if (!state || state.getValue() != (kAccumulatedPrefix + kLossCount).str())
    return false;
  return llvm::none_of(llvm::seq(program.getNumResults()),
                       [&](unsigned each) { return isLoss(program, each); });
}

bool endsBackward(func::FuncOp micro, unsigned result) {
  auto sent = getSent(micro, result);
  return isGradientSum(micro, result) || isReceivedCount(micro, result) ||
         (sent && sent->isGradient);
}

DenseSet<Operation *> findForwardPass(func::FuncOp micro) {
  SmallVector<Operation *> ends;
  Operation *end = micro.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(end->getOperands()))
    if (!endsBackward(micro, index))
      ends.push_back(value.getDefiningOp());
  return findAncestors(std::move(ends));
}

SmallVector<Operation *> findGradientOps(func::FuncOp program) {
  SmallVector<Operation *> ops;
  for (auto region : program.getOps<FusedOp>())
    if (!region.getGradients().empty())
      ops.push_back(region);
  Operation *end = program.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(end->getOperands()))
    if (isGradientSum(program, index))
      ops.push_back(value.getDefiningOp());
  return ops;
}

} // namespace zc
