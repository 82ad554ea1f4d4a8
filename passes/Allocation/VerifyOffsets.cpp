//===- VerifyOffsets.cpp - --zc-verify-offsets ----------------------------===//
//
// A wrong offset shows as wrong numbers, far away and rarely. So the contract
// is proved for every program, by other means than those that chose the
// offsets: a sweep over time with the live buffers sorted by address.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/StateLookup.h"
#include "dialects/Train/Versions.h"
#include "passes/Allocation/LiveRanges.h"
#include "passes/Allocation/Passes.h"
#include "passes/Allocation/ValueCheck.h"

#include <algorithm>
#include <map>

using namespace mlir;
using namespace zc::sched;

namespace zc {
#define GEN_PASS_DEF_VERIFYOFFSETSPASS
#include "passes/Allocation/Passes.h.inc"

namespace {

/// The buffers of one region that are in use at one moment.
class LiveSet {
public:
  /// Fails if `op` overlaps what is there.
  LogicalResult insert(Operation *op, int64_t offset, int64_t bytes) {
    auto next = byOffset.lower_bound(offset);
    if (next != byOffset.end() && next->first < offset + bytes)
      return report(op, next->second.op);
    if (next != byOffset.begin() && std::prev(next)->second.end > offset)
      return report(op, std::prev(next)->second.op);
    byOffset[offset] = {op, offset + bytes};
    return success();
  }

  void erase(int64_t offset) { byOffset.erase(offset); }

  /// Fails if anything there overlaps what is here.
  LogicalResult checkDisjoint(const LiveSet &other) const {
    LiveSet both = *this;
    for (const auto &[offset, entry] : other.byOffset)
      if (failed(both.insert(entry.op, offset, entry.end - offset)))
        return failure();
    return success();
  }

private:
  struct Entry {
    Operation *op;
    int64_t end;
  };

  static LogicalResult report(Operation *op, Operation *other) {
    InFlightDiagnostic diagnostic =
        op->emitOpError("shares bytes with another buffer while both are "
                        "needed");
    diagnostic.attachNote(other->getLoc()) << "the other buffer is here";
    return diagnostic;
  }

  std::map<int64_t, Entry> byOffset;
};

} // namespace

static LogicalResult checkPlace(Operation *op, std::optional<int64_t> offset,
                                int64_t bytes, int64_t regionBytes) {
  if (!offset)
    return op->emitOpError("has no offset; run --zc-assign-offsets");
  if (*offset < 0 || *offset % kAlignment != 0)
    return op->emitOpError() << "has offset " << *offset
                             << ", which is no multiple of " << kAlignment;
  if (*offset + bytes > regionBytes)
    return op->emitOpError() << "ends at byte " << *offset + bytes
                             << " of a region of " << regionBytes;
  return success();
}

static int64_t getOffloadedBytes(ModuleOp module) {
  auto size = module->getAttrOfType<IntegerAttr>(kOffloadedBytesAttr);
  return size ? size.getInt() : 0;
}

/// Bytes of one slot of a ring; 0 if the module has no ring of that name.
static int64_t getSlotBytes(ModuleOp module, StringRef ring) {
  auto rings = module->getAttrOfType<DictionaryAttr>(kRingsAttr);
  auto bytes = rings ? rings.getAs<IntegerAttr>(ring) : IntegerAttr();
  return bytes ? bytes.getInt() : 0;
}

/// The place of what the state is a version of.
static Attribute getVersioned(train::StateOp state) {
  train::StateOp of = train::findState(state, state.getVersionOfAttr());
  return of ? of.getOffsetAttr() : IntegerAttr();
}

/// Whether a state's unit and what it is a version of are states.
static LogicalResult verifyReferences(train::StateOp state,
                                      const SymbolTable &symbols) {
  for (FlatSymbolRefAttr symbol :
       {state.getUnitAttr(), state.getVersionOfAttr()})
    if (symbol && !symbols.lookup<train::StateOp>(symbol.getAttr()))
      return state.emitOpError("refers to ") << symbol << ", which is no state";
  return success();
}

static LogicalResult verifyStates(ModuleOp module) {
  auto size = module->getAttrOfType<IntegerAttr>(kPersistentBytesAttr);
  if (!size)
    return module.emitOpError()
           << "has no " << kPersistentBytesAttr << "; run --zc-assign-offsets";
  LiveSet persistent, offloaded;
  std::map<StringRef, LiveSet> rings;
  std::map<int64_t, LiveSet> units; // of stages that take turns
  const SymbolTable symbols(module);
  for (train::StateOp state : module.getOps<train::StateOp>()) {
    if (failed(verifyReferences(state, symbols)))
      return failure();
    const std::optional<int64_t> offset = state.getOffset();
    int64_t bytes = getByteSize(state.getTensorType());
    if (state.getKind() == train::kFlight) {
      if (!state.getRing())
        return state.emitOpError("is of kind flight, and lies in no ring");
      StringRef ring = *state.getRing();
      if (failed(
              checkPlace(state, offset, bytes, getSlotBytes(module, ring))) ||
          failed(rings[ring].insert(state, *offset, bytes)))
        return failure();
      continue;
    }
    if (train::isVersionOfOther(state)) {
      if (state.getOffsetAttr() != getVersioned(state))
        return state.emitOpError("is not in the place of what it is a version "
                                 "of");
      continue;
    }
    bool isOffloaded = state.getOffloaded();
    int64_t region = isOffloaded ? getOffloadedBytes(module) : size.getInt();
    if (failed(checkPlace(state, offset, bytes, region)))
      return failure();
    std::optional<int64_t> stage = state.getUnitStage();
    LiveSet &live = stage         ? units[*stage]
                    : isOffloaded ? offloaded
                                  : persistent;
    if (bytes > 0 && failed(live.insert(state, *offset, bytes)))
      return failure();
  }
  for (auto &[stage, live] : units)
    if (failed(persistent.checkDisjoint(live)))
      return failure();
  return success();
}

static std::optional<int64_t> getOffset(Operation *root) {
  if (auto input = dyn_cast<InputOp>(root))
    return input.getOffset();
  return cast<AllocOp>(root).getOffset();
}

static LogicalResult verifyBuffers(ProgramOp program) {
  if (!program.getTransientBytes())
    return program.emitOpError(
        "has no transient_bytes; run --zc-assign-offsets");
  std::vector<LiveRange> starting = computeLiveRanges(program);
  llvm::erase_if(starting,
                 [](const LiveRange &range) { return range.bytes == 0; });
  auto module = program->getParentOfType<ModuleOp>();
  for (const LiveRange &range : starting) {
    int64_t region = isOffloadedAlloc(range.root)
                         ? getOffloadedBytes(module)
                         : *program.getTransientBytes();
    if (failed(
            checkPlace(range.root, getOffset(range.root), range.bytes, region)))
      return failure();
  }
  std::vector<LiveRange> ending = starting;
  llvm::stable_sort(starting, [](const LiveRange &a, const LiveRange &b) {
    return a.first < b.first;
  });
  llvm::stable_sort(ending, [](const LiveRange &a, const LiveRange &b) {
    return a.last < b.last;
  });
  LiveSet transient, offloaded;
  for (train::StateOp state : module.getOps<train::StateOp>())
    if (int64_t bytes = getByteSize(state.getTensorType());
        bytes > 0 && state.getOffloaded() && state.getKind() != train::kFlight)
      (void)offloaded.insert(state, int64_t(*state.getOffset()),
                             bytes); // verifyStates has checked them
  auto setOf = [&](Operation *root) -> LiveSet & {
    return isOffloadedAlloc(root) ? offloaded : transient;
  };
  auto next = ending.begin();
  for (const LiveRange &range : starting) {
    for (; next->last < range.first; ++next)
      setOf(next->root).erase(*getOffset(next->root));
    if (failed(setOf(range.root)
                   .insert(range.root, *getOffset(range.root), range.bytes)))
      return failure();
  }
  return success();
}

namespace {

struct VerifyOffsetsPass : impl::VerifyOffsetsPassBase<VerifyOffsetsPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verifyStates(getOperation())))
      return signalPassFailure();
    for (ProgramOp program : getOperation().getOps<ProgramOp>())
      if (failed(verifyBuffers(program)) || failed(checkValues(program)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace zc
