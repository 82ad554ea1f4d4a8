//===- ActiveValues.cpp - what gradients reach ----------------------------===//
#include "passes/Autodiff/ActiveValues.h"

#include "dialects/Train/StateLookup.h"
#include "passes/Autodiff/StopGradients.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

bool isTrained(Value value) {
  StateOp state = findState(value);
  return state && (state.getKind() == kParameter || state.getKind() == kCopy);
}

SmallVector<Value> findTrained(func::FuncOp program) {
  SmallVector<Value> trained;
  for (Value argument : program.getArguments())
    if (isTrained(argument))
      trained.push_back(argument);
  return trained;
}

DenseSet<Value> findActiveValues(func::FuncOp program,
                                 ArrayRef<Value> sources) {
  DenseSet<Value> active(sources.begin(), sources.end());
  for (Operation &op : program.getBody().front().without_terminator()) {
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
