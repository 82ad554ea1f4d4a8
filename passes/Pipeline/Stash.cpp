//===- Stash.cpp - what the backward will read of the forward -------------===//
#include "passes/Pipeline/Stash.h"

#include "dialects/Train/TrainDialect.h"
#include "passes/Analysis/Tensors.h"
#include "passes/Autodiff/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

/// On an op of the copy's forward: its number; -1 where nobody asked for it.
static constexpr StringLiteral kNumberAttr = "train.number";

static SmallVector<double> countAll(ArrayRef<Operation *> ops) {
  SmallVector<double> bytes;
  for (Operation *op : ops) {
    double &sum = bytes.emplace_back(0);
    for (Value result : op->getResults())
      sum += double(bytesOf(result));
  }
  return bytes;
}

static bool isForward(Operation *op) {
  return op->hasAttr(kNumberAttr) || op->hasTrait<OpTrait::IsTerminator>();
}

/// The value to keep in place of a view of it, which is cheap to recompute.
static Value getKept(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && isa<BroadcastOp, ReshapeOp, SliceOp, TransposeOp>(op)) {
    value = op->getOperand(0);
    op = value.getDefiningOp();
  }
  return value;
}

SmallVector<double> estimateStash(func::FuncOp step,
                                  ArrayRef<Operation *> ops) {
  auto module = step->getParentOfType<ModuleOp>();
  IRMapping mapping;
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(module->clone(mapping));
  Builder builder(step.getContext());
  auto copied = copy->lookupSymbol<func::FuncOp>(step.getSymName());
  for (Operation &op : copied.getBody().front())
    op.setAttr(kNumberAttr, builder.getI64IntegerAttr(-1));
  for (auto [number, op] : llvm::enumerate(ops))
    mapping.lookup(op)->setAttr(kNumberAttr,
                                builder.getI64IntegerAttr(int64_t(number)));
  PassManager manager(step.getContext(), ModuleOp::getOperationName());
  manager.enableVerifier(false);
  manager.addPass(createBuildBackwardPass());
  {
    // The real one reports what is wrong, for the role that it is wrong in.
    ScopedDiagnosticHandler silent(step.getContext(),
                                   [](Diagnostic &) { return success(); });
    if (failed(manager.run(*copy)))
      return countAll(ops);
  }
  SmallVector<double> bytes(ops.size(), 0);
  DenseSet<Value> seen;
  copied = copy->lookupSymbol<func::FuncOp>(kStepProgram);
  for (Operation &op : copied.getBody().front()) {
    if (isForward(&op))
      continue;
    for (Value operand : op.getOperands()) {
      Value root = getKept(operand);
      Operation *producer = root.getDefiningOp();
      auto number = producer ? producer->getAttrOfType<IntegerAttr>(kNumberAttr)
                             : IntegerAttr();
      if (number && number.getInt() >= 0 && seen.insert(root).second)
        bytes[number.getInt()] += double(bytesOf(root));
    }
  }
  return bytes;
}

} // namespace zc
