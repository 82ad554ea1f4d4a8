//===- JoinCalls.cpp - --zc-join-calls ------------------------------------===//
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/Fusion/JoinedCalls.h" // written by CMake
#include "passes/Fusion/Passes.h"
#include "passes/Target/Target.h"

using namespace mlir;

namespace zc {
#define GEN_PASS_DEF_JOINCALLSPASS
#include "passes/Fusion/Passes.h.inc"

namespace {

struct JoinCalls : public impl::JoinCallsPassBase<JoinCalls> {
  void runOnOperation() override {
    const Target &target = getTarget(getOperation());
    for (auto program : getOperation().getOps<func::FuncOp>())
      if (!program.isDeclaration())
        run(program.getBody().front(), target);
  }

private:
  void run(Block &block, const Target &target) {
    for (JoinCallsOfKind join : kJoinedCalls)
      numJoined += join(block, target);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
    sortTopologically(&block);
  }
};

} // namespace
} // namespace zc
