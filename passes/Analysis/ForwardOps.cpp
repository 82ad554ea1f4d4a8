//===- ForwardOps.cpp - which ops of a program are its forward ------------===//
#include "passes/Analysis/ForwardOps.h"

#include "dialects/Train/TrainDialect.h"
#include "passes/Autodiff/ProgramBuilder.h"

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

// With accumulation the loss is part of a sum that is a state.
static bool isLoss(func::FuncOp program, unsigned result) {
  auto metric = program.getResultAttrOfType<StringAttr>(result, kMetricAttr);
  if (metric)
    return metric.getValue() == kLoss;
  auto state =
      program.getResultAttrOfType<FlatSymbolRefAttr>(result, kStateAttr);
  return state && state.getValue() == (kAccumulatedPrefix + kLoss).str();
}

DenseSet<Operation *> findForwardOps(func::FuncOp program) {
  SmallVector<Operation *> losses;
  Operation *end = program.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(end->getOperands()))
    if (isLoss(program, index))
      losses.push_back(value.getDefiningOp());
  return findAncestors(std::move(losses));
}

} // namespace zc
