//===- SelectLibraryCalls.cpp - matmuls and convolutions to a library -----===//
#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/TrainDialect.h"
#include "dialects/Train/Winograd.h"
#include "passes/Analysis/LoopNests.h"
#include "passes/Fusion/Passes.h"
#include "passes/Target/Target.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_SELECTLIBRARYCALLSPASS
#include "passes/Fusion/Passes.h.inc"

namespace {

/// The only op of a region that takes the region's operands and leaves its own
/// first results, in order, or null.
Operation *singleOp(FusedOp region) {
  Block &block = region.getBody().front();
  Operation &op = block.front();
  Operation *end = block.getTerminator();
  if (op.getNextNode() != end || op.getOperands() != block.getArguments())
    return nullptr;
  for (auto [index, value] : llvm::enumerate(end->getOperands()))
    if (value != op.getResult(index))
      return nullptr;
  return &op;
}

struct SelectLibraryCalls
    : public impl::SelectLibraryCallsPassBase<SelectLibraryCalls> {
  void runOnOperation() override {
    const Target &target = getTarget(getOperation());
    auto boundWorkspace = [&](FusedOp region) {
      Operation &called = findCalled(region.getBody().front());
      region.setWorkspaceBytes(target.workspaceBound(&called));
    };
    getOperation().walk([&](FusedOp region) {
      if (region.getLibrary()) {
        boundWorkspace(region);
        return;
      }
      Operation *op = singleOp(region);
      bool isCollective = isa_and_nonnull<dist::CollectiveOpInterface>(op);
      StringRef library = isCollective ? StringRef(kCollectiveLibrary)
                          : op         ? target.libraryFor(op)
                                       : StringRef();
      if (library.empty())
        return;
      ++numCalls;
      region.setLibrary(library);
      if (target.allowsWinograd(op))
        setWinograd(op, true);
      if (!isCollective)
        boundWorkspace(region);
    });
  }
};

} // namespace
} // namespace zc
