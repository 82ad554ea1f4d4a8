//===- Offload.cpp - --zc-offload -----------------------------------------===//
//
// Spilling, as register allocators do it, for buffers: a value that is not
// needed for a while lies in the second memory space. It is done on the final
// order, so that times are known, and before offsets, so that the bytes count.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/TrainDialect.h"
#include "passes/Scheduling/OffloadTimes.h"
#include "passes/Scheduling/OffloadUses.h"
#include "passes/Scheduling/Passes.h"
#include "passes/Scheduling/TrainProgram.h"
#include "passes/Target/Target.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace zc::sched;

namespace zc {
#define GEN_PASS_DEF_OFFLOADPASS
#include "passes/Scheduling/Passes.h.inc"

namespace {

/// One program.
class Offloader {
public:
  explicit Offloader(ProgramOp program)
      : program(program), builder(program.getContext()), uses(program) {}

  /// Returns the seconds that the program waits for the copies.
  double run();

  unsigned getNumFetches() const { return fetches.size(); }
  unsigned getNumStores() const { return stores.size(); }

private:
  /// A copy that has no place yet.
  struct Planned {
    Value source, destination;
    OffloadUse use; // a fetch: the first; a store: the last
    std::string label;
    size_t copy; // in `copies`
    CopyOp op = nullptr;
  };

  void offload(Value root, ArrayRef<OffloadSpan> spans);
  Value stage(Value root, const OffloadSpan &span);
  Value rewrite(const OffloadSpan &span, Value buffer);
  Value translate(Value value, Operation *user, Value buffer, IRMapping &map);
  Value placeToStore(Value root, const OffloadSpan &span, Value &offloaded);
  void planFetch(const OffloadSpan &span, Value from, Value to,
                 unsigned earliest, size_t behind);
  void planStore(const OffloadSpan &span, Value from, Value to);
  void placeStores();
  void placeLastStores();
  void placeFetches();
  void placeWaits();
  CopyOp createCopy(const Planned &planned);
  void eraseUnused();

  ProgramOp program;
  OpBuilder builder;
  OffloadUses uses;
  std::vector<OffloadCopy> copies;
  std::vector<Planned> fetches, stores;
  llvm::DenseMap<Operation *, CopyOp> firstFetches; // in front of an op
};

} // namespace

double Offloader::run() {
  for (auto &[root, spans] : uses.getSpans())
    offload(root, spans);
  if (copies.empty())
    return 0;
  // It runs once, and is not to need more room than steps do.
  const bool isInit = program.getSymName() == train::kInitProgram;
  const double waiting =
      chooseOffloadTimes(getTarget(program), uses.getSeconds(), copies,
                         isInit ? StoreRoom::Least : StoreRoom::Quick);
  placeStores();
  placeFetches();
  placeWaits();
  eraseUnused();
  return waiting;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// The transient buffer of a span.
Value Offloader::stage(Value root, const OffloadSpan &span) {
  auto alloc = root.getDefiningOp<AllocOp>();
  MemoryClass memoryClass = kCommunication; // staging
  if (alloc)
    memoryClass = sched::getMemoryClass(span.held);
  builder.setInsertionPointAfter(root.getDefiningOp());
  return AllocOp::create(builder, root.getLoc(), span.held.getType(),
                         memoryClass,
                         /*offset=*/nullptr);
}

/// The buffer or view that replaces `value` once its root is `buffer`.
Value Offloader::translate(Value value, Operation *user, Value buffer,
                           IRMapping &map) {
  if (Value known = map.lookupOrNull(value))
    return known;
  auto view = value.getDefiningOp<ViewOp>();
  if (!view)
    return buffer; // the root, written anew
  Value source = translate(view.getSource(), user, buffer, map);
  builder.setInsertionPoint(user);
  Value clone = ViewOp::create(builder, view.getLoc(), view.getType(), source,
                               view.getMemoryClassAttr(), view.getOffsetAttr());
  map.map(value, clone);
  return clone;
}

/// Puts `buffer` in the root's place; returns what stands for the value left.
Value Offloader::rewrite(const OffloadSpan &span, Value buffer) {
  Value root = getRoot(span.held);
  IRMapping map;
  map.map(span.held, buffer);
  for (const OffloadUse &use : span.uses)
    for (OpOperand &operand : use.op->getOpOperands())
      if (getRoot(operand.get()) == root)
        operand.set(translate(operand.get(), use.op, buffer, map));
  return map.lookup(span.left);
}

/// Where a new value goes in the second space.
Value Offloader::placeToStore(Value root, const OffloadSpan &span,
                              Value &offloaded) {
  if (root.getDefiningOp<sched::StateOp>())
    return offloaded = span.left;
  builder.setInsertionPointAfter(root.getDefiningOp());
  if (!offloaded)
    return offloaded = AllocOp::create(builder, root.getLoc(),
                                       span.left.getType(), kOffloaded,
                                       /*offset=*/nullptr);
  builder.setInsertionPointAfterValue(offloaded);
  return offloaded = ViewOp::create(builder, root.getLoc(), span.left.getType(),
                                    offloaded, /*memory_class=*/nullptr);
}

void Offloader::offload(Value root, ArrayRef<OffloadSpan> spans) {
  bool isState = root.getDefiningOp<sched::StateOp>() != nullptr;
  if (!isState && spans.size() < 2)
    return;
  Value offloaded = isState ? root : Value(); // where the value lies
  unsigned earliest = 0;
  size_t behind = OffloadCopy::kNothing; // the store of what lies there
  for (const OffloadSpan &span : spans) {
    Value left = span.left;
    if (span.held) {
      Value buffer = stage(root, span);
      if (span.reads)
        planFetch(span, offloaded, buffer, earliest, behind);
      left = rewrite(span, buffer);
    }
    if (span.writes && (isState || &span != &spans.back())) {
      behind = copies.size();
      planStore(span, left, placeToStore(root, span, offloaded));
    }
    earliest = span.last().end;
  }
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// A name for people: the state's, or else the first user's label.
static std::string nameRoot(Value root, const OffloadSpan &span) {
  if (auto state = root.getDefiningOp<sched::StateOp>())
    return state.getState().str();
  auto label = span.uses.front().op->getAttrOfType<StringAttr>("label");
  return label ? label.str() : "";
}

void Offloader::planFetch(const OffloadSpan &span, Value from, Value to,
                          unsigned earliest, size_t behind) {
  const OffloadUse &first = span.uses.front();
  fetches.push_back({from, to, first, "fetch " + nameRoot(getRoot(from), span),
                     copies.size()});
  copies.push_back(
      {/*isFetch=*/true, getByteSize(to), earliest, first.begin, behind});
}

void Offloader::planStore(const OffloadSpan &span, Value from, Value to) {
  const OffloadUse &last = span.last();
  stores.push_back(
      {from, to, last, "store " + nameRoot(getRoot(to), span), copies.size()});
  copies.push_back({/*isFetch=*/false, getByteSize(to), last.end, last.end});
}

CopyOp Offloader::createCopy(const Planned &planned) {
  double bytes = 2.0 * static_cast<double>(getByteSize(planned.source));
  return CopyOp::create(
      builder, planned.use.op->getLoc(), planned.source, planned.destination,
      builder.getUnitAttr(), builder.getStringAttr(planned.label),
      builder.getF64FloatAttr(0), builder.getF64FloatAttr(bytes));
}

void Offloader::placeStores() {
  // From the last to the first: each is placed right after the op it waits for.
  for (Planned &store : llvm::reverse(stores)) {
    if (!store.use.endOp)
      continue;
    builder.setInsertionPointAfter(store.use.endOp);
    store.op = createCopy(store);
  }
  placeLastStores();
}

/// Places the stores that end with the program, in program order: waiting for
/// one instruction of a stream means waiting for those before it.
void Offloader::placeLastStores() {
  SmallVector<Planned *> last;
  for (Planned &store : stores)
    if (!store.use.endOp)
      last.push_back(&store);
  llvm::stable_sort(last, [](const Planned *a, const Planned *b) {
    return a->use.op->isBeforeInBlock(b->use.op);
  });
  builder.setInsertionPointToEnd(&program.getBody().front());
  Operation *awaited = nullptr;
  for (Planned *store : last) {
    auto op = cast<InstructionOpInterface>(store->use.op);
    if (op.getOperation() != awaited)
      WaitOp::create(builder, op.getLoc(), op.getWrites().front());
    awaited = op;
    store->op = createCopy(*store);
  }
}

void Offloader::placeFetches() {
  llvm::stable_sort(fetches, [&](const Planned &a, const Planned &b) {
    return copies[a.copy].needed < copies[b.copy].needed;
  });
  for (Planned &fetch : fetches) {
    const OffloadCopy &copy = copies[fetch.copy];
    Operation *place = fetch.use.op;
    if (copy.time < copy.needed)
      place = uses.getMain()[copy.time];
    builder.setInsertionPoint(place);
    fetch.op = createCopy(fetch);
    firstFetches.try_emplace(place, fetch.op);
  }
}

/// A wait for a copy that has been waited for already would wait for nothing.
void Offloader::placeWaits() {
  llvm::DenseMap<Operation *, SmallVector<CopyOp>> awaited;
  for (const Planned &store : stores) {
    unsigned time = copies[store.copy].time;
    if (time == OffloadCopy::kNever)
      continue;
    // Fetches that begin there may use the memory.
    Operation *place = uses.getMain()[time];
    Operation *fetch = firstFetches.lookup(place);
    const bool isFirst = fetch && !copies[store.copy].endsBesideFetches;
    awaited[isFirst ? fetch : place].push_back(store.op);
  }
  for (const Planned &fetch : fetches)
    awaited[fetch.use.op].push_back(fetch.op);
  UnderWay underWay;
  for (Operation &op : llvm::make_early_inc_range(program.getBody().front())) {
    for (CopyOp copy : awaited.lookup(&op)) {
      if (!llvm::is_contained(underWay.get(), copy.getOperation()))
        continue;
      builder.setInsertionPoint(&op);
      underWay.step(
          *WaitOp::create(builder, copy.getLoc(), copy.getDestination()));
    }
    // A later copy that is waited for makes others' waits needless.
    if (underWay.step(op).empty() && isa<WaitOp>(op))
      op.erase();
  }
}

void Offloader::eraseUnused() {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(program.getBody().front())))
    if (isa<ViewOp, sched::StateOp>(op) && op.use_empty())
      op.erase();
}

namespace {

struct OffloadPass : impl::OffloadPassBase<OffloadPass> {
  void runOnOperation() override {
    double ofMicroBatch = 0, ofEnd = 0;
    for (ProgramOp program : getOperation().getOps<ProgramOp>()) {
      Offloader offloader(program);
      const double waiting = offloader.run();
      numFetches += offloader.getNumFetches();
      numStores += offloader.getNumStores();
      if (isOfMicroBatch(program.getSymName()))
        ofMicroBatch += waiting;
      else if (program.getSymName() == train::kApplyProgram)
        ofEnd += waiting;
    }
    if (ofMicroBatch + ofEnd > 0)
      getOperation()->setAttr(
          kWaitingAttr,
          Builder(&getContext()).getDenseF64ArrayAttr({ofMicroBatch, ofEnd}));
  }
};

} // namespace
} // namespace zc
