//===- OffloadUses.cpp - when offloaded values are needed -----------------===//
#include "passes/Scheduling/OffloadUses.h"

#include "passes/Scheduling/TrainProgram.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace zc::sched;

namespace zc {

// Instructions between two uses for which no value is copied away and back.
static constexpr unsigned kNear = 1;

const OffloadUse &OffloadSpan::last() const {
  const OffloadUse *best = &uses.front();
  for (const OffloadUse &use : uses)
    if (!use.endOp || (best->endOp && use.end >= best->end))
      best = &use;
  return *best;
}

OffloadUses::OffloadUses(ProgramOp program) : target(getTarget(program)) {
  findRoots(program);
  if (spans.empty())
    return;
  findEnds(program);
  countSeconds();
  for (Operation &op : program.getBody().front()) {
    addUses(op);
    if (isa<InstructionOpInterface>(op) && getStream(&op) == kMainStream)
      ++now;
  }
}

void OffloadUses::findRoots(ProgramOp program) {
  SymbolTable symbols(program->getParentOfType<ModuleOp>());
  for (Operation &op : program.getBody().front()) {
    if (auto use = dyn_cast<sched::StateOp>(op)) {
      if (!symbols.lookup<train::StateOp>(use.getState()).getOffloaded())
        continue;
      spans[use] = {};
      current[use] = use;
    } else if (auto alloc = dyn_cast<AllocOp>(op);
               alloc && alloc.getOffload()) {
      spans[alloc] = {};
    }
  }
  // States that the host updates stay where they are.
  for (auto launch : program.getOps<LaunchOp>())
    if (launch.getHost())
      for (Value operand : launch->getOperands())
        spans.erase(getRoot(operand));
  // The host reads outputs from the transient region.
  for (auto output : program.getOps<OutputOp>())
    if (Value root = getRoot(output.getBuffer()); root.getDefiningOp<AllocOp>())
      spans.erase(root);
}

void OffloadUses::findEnds(ProgramOp program) {
  UnderWay underWay;
  unsigned time = 0;
  for (Operation &op : program.getBody().front()) {
    for (Operation *ended : underWay.step(op))
      ends[ended] = {time, &op};
    auto instruction = dyn_cast<InstructionOpInterface>(op);
    if (!instruction)
      continue;
    for (Value write : instruction.getWrites())
      written.insert(write);
    if (getStream(&op) != kMainStream)
      continue;
    main.push_back(&op);
    ++time;
  }
  for (Operation *last : underWay.get())
    ends[last] = {time, nullptr};
}

void OffloadUses::countSeconds() {
  elapsed.push_back(0);
  for (Operation *op : main) {
    seconds.push_back(estimateInstructionSeconds(op));
    elapsed.push_back(elapsed.back() + seconds.back());
  }
}

double OffloadUses::secondsBetween(unsigned from, unsigned to) const {
  return elapsed[to] - elapsed[from];
}

/// One way, without latency, as copies follow one another.
double OffloadUses::copySeconds(Value root) const {
  return static_cast<double>(getByteSize(root)) / target.rates().copy.bytes;
}

/// Whether the value stays for `use`. A value that is only read need not be
/// stored, but its way back would have to begin where `span` ends, so that
/// there would be no room meanwhile either.
bool OffloadUses::isNear(Value root, const OffloadSpan &span,
                         const OffloadUse &use) const {
  const OffloadUse &last = span.last();
  if (!last.endOp || use.begin <= last.end + kNear)
    return true;
  return target.runsBesideHost() && !span.writes &&
         secondsBetween(last.end, use.begin) < copySeconds(root);
}

SmallVector<Value> OffloadUses::findBusyStates() const {
  SmallVector<Value> busy;
  if (!target.runsBesideHost())
    return busy;
  for (const auto &[root, list] : spans) {
    if (!root.getDefiningOp<sched::StateOp>() || list.empty())
      continue;
    const bool writes =
        llvm::any_of(list, [](const OffloadSpan &span) { return span.writes; });
    double unused = secondsBetween(0, list.front().begin());
    if (writes)
      unused += secondsBetween(list.back().last().end, main.size());
    if (unused < copySeconds(root) * (writes ? 2 : 1))
      busy.push_back(root);
  }
  return busy;
}

/// The value that `buffer` is a name for.
Value OffloadUses::resolve(Value buffer) const {
  while (!written.contains(buffer)) {
    auto view = buffer.getDefiningOp<ViewOp>();
    if (!view)
      break;
    buffer = view.getSource();
  }
  return buffer;
}

void OffloadUses::addUses(Operation &op) {
  if (!isa<InstructionOpInterface, WaitOp, OutputOp>(op))
    return;
  bool isMain =
      isa<InstructionOpInterface>(op) && getStream(&op) == kMainStream;
  OffloadUse use{&op, now, now + (isMain ? 1 : 0), &op};
  if (auto end = ends.find(&op); end != ends.end())
    std::tie(use.end, use.endOp) = end->second;
  llvm::SmallSetVector<Value, 4> roots;
  for (Value operand : op.getOperands())
    roots.insert(getRoot(operand));
  for (Value root : roots)
    if (spans.contains(root))
      add(root, use);
}

void OffloadUses::add(Value root, const OffloadUse &use) {
  std::vector<OffloadSpan> &list = spans[root];
  if (list.empty() || !isNear(root, list.back(), use)) {
    OffloadSpan &span = list.emplace_back();
    span.held = span.left = current.lookup(root);
  }
  list.back().uses.push_back(use);
  note(list.back(), use.op, root);
}

void OffloadUses::note(OffloadSpan &span, Operation *op, Value root) {
  if (auto output = dyn_cast<OutputOp>(op))
    span.reads |= resolve(output.getBuffer()) == span.held;
  auto instruction = dyn_cast<InstructionOpInterface>(op);
  if (!instruction)
    return;
  for (Value read : instruction.getReads())
    span.reads |= getRoot(read) == root && resolve(read) == span.held;
  for (Value write : instruction.getWrites()) {
    if (getRoot(write) != root)
      continue;
    span.writes = true;
    span.left = current[root] = write;
  }
}

} // namespace zc
