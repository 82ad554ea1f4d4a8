//===- AssignOffsets.cpp - --zc-assign-offsets ----------------------------===//
//
// Memory is planned, not allocated: after this pass the exact size of both
// regions is known, and nothing is left to decide at run time.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/StateLookup.h"
#include "dialects/Train/Versions.h"
#include "passes/Allocation/LiveRanges.h"
#include "passes/Allocation/Packing.h"
#include "passes/Allocation/Passes.h"

#include "mlir/IR/Builders.h"

#include "llvm/ADT/MapVector.h"

#include <algorithm>

using namespace mlir;
using namespace zc::sched;

namespace zc {
#define GEN_PASS_DEF_ASSIGNOFFSETSPASS
#include "passes/Allocation/Passes.h.inc"

namespace {

/// Bytes of states in the two memory spaces that outlive a program.
struct StateBytes {
  int64_t persistent = 0, offloaded = 0;
};

} // namespace

/// Places versions of states behind all other states from `end` on, which
/// grows: one slot per version. A version's state has its offset in slot 0.
static void placeVersions(ModuleOp module, int64_t &end) {
  Builder builder(module.getContext());
  int64_t bytes = 0;
  for (train::StateOp state : module.getOps<train::StateOp>()) {
    if (train::getDelay(state) == 0)
      continue;
    state.setOffset(end + bytes);
    bytes += alignUp(getByteSize(state.getTensorType()));
  }
  for (train::StateOp state : module.getOps<train::StateOp>())
    if (train::StateOp of = train::findState(state, state.getVersionOfAttr()))
      state.setOffsetAttr(of.getOffsetAttr());
  if (bytes == 0)
    return;
  module->setAttr(train::kVersionBytesAttr, builder.getI64IntegerAttr(bytes));
  end += bytes *
         std::max<int64_t>(1, train::getCount(module, train::kVersionsAttr));
}

/// Where units of a role's stages take turns: of each stage they begin at
/// `end`, which grows by the most that one needs.
static void placeSharedUnits(ModuleOp module, int64_t &end) {
  llvm::MapVector<Attribute, int64_t> ends; // by stage
  for (train::StateOp state : module.getOps<train::StateOp>())
    if (Attribute stage = state.getUnitStageAttr()) {
      int64_t &own = ends[stage];
      state.setOffset(end + own);
      own += alignUp(getByteSize(state.getTensorType()));
    }
  int64_t most = 0;
  for (auto [stage, bytes] : ends)
    most = std::max(most, bytes);
  end += most;
}

static StateBytes placeStates(ModuleOp module) {
  Builder builder(module.getContext());
  StateBytes ends;
  for (train::StateOp state : module.getOps<train::StateOp>()) {
    if (state.getKind() == train::kFlight || train::isVersionOfOther(state) ||
        train::getDelay(state) > 0 || state.getUnitStage())
      continue;
    int64_t &end = state.getOffloaded() ? ends.offloaded : ends.persistent;
    state.setOffset(end);
    end += alignUp(getByteSize(state.getTensorType()));
  }
  placeSharedUnits(module, ends.persistent);
  placeVersions(module, ends.persistent);
  module->setAttr(kPersistentBytesAttr,
                  builder.getI64IntegerAttr(ends.persistent));
  return ends;
}

/// Places what micro-batches keep in the slots of its ring.
static LogicalResult placeFlights(ModuleOp module) {
  Builder builder(module.getContext());
  llvm::MapVector<StringAttr, int64_t> ends;
  for (train::StateOp state : module.getOps<train::StateOp>()) {
    if (state.getKind() != train::kFlight)
      continue;
    if (!state.getRing())
      return state.emitOpError(
          "is of kind flight, and lies in no ring; expected "
          "ring = \"...\", which cutting into roles sets");
    int64_t &end = ends[state.getRingAttr()];
    state.setOffset(end);
    end += alignUp(getByteSize(state.getTensorType()));
  }
  SmallVector<NamedAttribute> rings;
  for (auto [name, bytes] : ends)
    rings.emplace_back(name, builder.getI64IntegerAttr(bytes));
  if (!rings.empty())
    module->setAttr(kRingsAttr, builder.getDictionaryAttr(rings));
  return success();
}

static void setOffset(Operation *root, int64_t offset) {
  if (auto input = dyn_cast<InputOp>(root))
    input.setOffset(offset);
  else
    cast<AllocOp>(root).setOffset(offset);
}

/// Places buffers from `begin` on.
static Packing pack(ArrayRef<LiveRange> ranges, int64_t begin) {
  std::vector<PackingItem> items;
  for (const LiveRange &range : ranges)
    items.push_back({range.bytes, range.first, range.last});
  Packing packing = packItems(items, kAlignment);
  for (auto [range, offset] : llvm::zip(ranges, packing.offsets))
    setOffset(range.root, begin + offset);
  return packing;
}

/// The program's buffers in the transient region, and those that it offloads,
/// behind the offloaded states up to `offloadedEnd`, which grows.
static Packing placeBuffers(ProgramOp program, int64_t offloadedBegin,
                            int64_t &offloadedEnd) {
  std::vector<LiveRange> ranges = computeLiveRanges(program);
  auto *offloaded = std::stable_partition(
      ranges.data(), ranges.data() + ranges.size(),
      [](const LiveRange &range) { return !isOffloadedAlloc(range.root); });
  size_t count = offloaded - ranges.data();
  Packing packing = pack(ArrayRef(ranges).take_front(count), 0);
  program.setTransientBytes(packing.bytes);
  int64_t bytes =
      pack(ArrayRef(ranges).drop_front(count), offloadedBegin).bytes;
  offloadedEnd = std::max(offloadedEnd, offloadedBegin + bytes);
  return packing;
}

namespace {

struct AssignOffsetsPass : impl::AssignOffsetsPassBase<AssignOffsetsPass> {
  void runOnOperation() override {
    StateBytes states = placeStates(getOperation());
    persistentBytes = states.persistent;
    if (failed(placeFlights(getOperation())))
      return signalPassFailure();
    int64_t largest = 0, offloaded = states.offloaded;
    for (ProgramOp program : getOperation().getOps<ProgramOp>()) {
      Packing packing = placeBuffers(program, states.offloaded, offloaded);
      largest = std::max(largest, packing.bytes);
      excessBytes += packing.bytes - packing.lowerBound;
    }
    transientBytes = largest;
    if (offloaded > 0)
      getOperation()->setAttr(
          kOffloadedBytesAttr,
          Builder(&getContext()).getI64IntegerAttr(offloaded));
  }
};

} // namespace
} // namespace zc
