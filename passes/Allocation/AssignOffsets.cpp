//===- AssignOffsets.cpp - --zc-assign-offsets ----------------------------===//
//
// Memory is planned, not allocated: after this pass the exact size of both
// regions is known, and nothing is left to decide at run time.
//
//===----------------------------------------------------------------------===//
#include "passes/Allocation/LiveRanges.h"
#include "passes/Allocation/Packing.h"
#include "passes/Allocation/Passes.h"

#include "mlir/IR/Builders.h"

#include <algorithm>

using namespace mlir;
using namespace zc::sched;

namespace zc {
#define GEN_PASS_DEF_ASSIGNOFFSETSPASS
#include "passes/Allocation/Passes.h.inc"

static int64_t placeStates(ModuleOp module) {
  Builder builder(module.getContext());
  int64_t end = 0;
  for (train::StateOp state : module.getOps<train::StateOp>()) {
    state->setAttr(kOffsetAttr, builder.getI64IntegerAttr(end));
    end += alignUp(getByteSize(state.getTensorType()));
  }
  module->setAttr(kPersistentBytesAttr, builder.getI64IntegerAttr(end));
  return end;
}

static void setOffset(Operation *root, int64_t offset) {
  if (auto input = dyn_cast<InputOp>(root))
    input.setOffset(offset);
  else
    cast<AllocOp>(root).setOffset(offset);
}

static Packing placeBuffers(ProgramOp program) {
  std::vector<LiveRange> ranges = computeLiveRanges(program);
  std::vector<PackingItem> items;
  for (const LiveRange &range : ranges)
    items.push_back({range.bytes, range.first, range.last});
  Packing packing = packItems(items, kAlignment);
  for (auto [range, offset] : llvm::zip(ranges, packing.offsets))
    setOffset(range.root, offset);
  program.setTransientBytes(packing.bytes);
  return packing;
}

namespace {

struct AssignOffsetsPass : impl::AssignOffsetsPassBase<AssignOffsetsPass> {
  void runOnOperation() override {
    persistentBytes = placeStates(getOperation());
    int64_t largest = 0;
    for (ProgramOp program : getOperation().getOps<ProgramOp>()) {
      Packing packing = placeBuffers(program);
      largest = std::max(largest, packing.bytes);
      excessBytes += packing.bytes - packing.lowerBound;
    }
    transientBytes = largest;
  }
};

} // namespace
} // namespace zc
