//===- ShareCount.cpp - --zc-share-count ----------------------------------===//
//
// A step's gradients are divided by how many losses they are of, which the role
// with the labels knows. With a flush, roles add it up when all micro-batches
// have ended. Without, nobody waits for that: the count of each micro-batch
// goes to each role with the gradients, and has arrived when that role updates.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/ProgramBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Analysis/Messages.h"
#include "passes/Analysis/Roles.h"
#include "passes/Pipeline/Passes.h"

#include <algorithm>

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_SHARECOUNTPASS
#include "passes/Pipeline/Passes.h.inc"

namespace {

struct ShareCount : public impl::ShareCountPassBase<ShareCount> {
  void runOnOperation() override {
    SmallVector<ModuleOp> roles = getRoles(getOperation());
    int64_t id = 0;
    SmallVector<func::FuncOp> steps;
    for (ModuleOp role : roles) {
      auto step = role.lookupSymbol<func::FuncOp>(kStepProgram);
      if (!step || !role->hasAttr(kRoleAttr)) {
        role.emitError("expected roles with @step, from --zc-split-stages");
        return signalPassFailure();
      }
      steps.push_back(step);
      for (func::FuncOp program : role.getOps<func::FuncOp>())
        id = std::max(id, nextId(program));
    }
    for (func::FuncOp from : steps)
      if (std::optional<unsigned> count = findMetric(from, kLossCount))
        return share(from, *count, steps, id);
  }

private:
  /// Behind all numbers of the program's messages and of their gradients.
  static int64_t nextId(func::FuncOp program) {
    int64_t next = 0;
    for (unsigned i = 0; i < program.getNumArguments(); ++i)
      if (auto end = getReceived(program, i))
        next = std::max(next, end->id + 2);
    for (unsigned i = 0; i < program.getNumResults(); ++i)
      if (auto end = getSent(program, i))
        next = std::max(next, end->id + 2);
    return next;
  }

  static int64_t roleOf(func::FuncOp step) {
    return step->getParentOfType<ModuleOp>()
        ->getAttrOfType<IntegerAttr>(kRoleAttr)
        .getInt();
  }

  NamedAttribute endOf(StringRef name, int64_t id, int64_t peer) {
    const MessageEnd end{id, peer, /*hasGradient=*/false, /*isGradient=*/true};
    return Builder(&getContext()).getNamedAttr(name, end.toAttr(&getContext()));
  }

  void share(func::FuncOp from, unsigned count, ArrayRef<func::FuncOp> steps,
             int64_t id) {
    Value value = from.getBody().front().getTerminator()->getOperand(count);
    Builder builder(&getContext());
    for (func::FuncOp to : steps) {
      if (to == from)
        continue;
      addResult(from, value, endOf(kSendAttr, id, roleOf(to)));
      Value received =
          addArgument(to, value.getType(),
                      endOf(kReceiveAttr, id, roleOf(from)), value.getLoc());
      addResult(
          to, received,
          builder.getNamedAttr(kMetricAttr, builder.getStringAttr(kLossCount)));
      id += 2;
    }
  }
};

} // namespace
} // namespace zc
