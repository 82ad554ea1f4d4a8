//===- OrderInstructions.cpp - --zc-order-instructions --------------------===//
//
// The order of a program decides what memory it needs, and whether a state can
// be updated where it stands: its new value must come after the last read of
// the old.
//
//===----------------------------------------------------------------------===//
#include "passes/Scheduling/Passes.h"
#include "passes/Scheduling/RingTurns.h"
#include "passes/Scheduling/ScheduleGraph.h"
#include "passes/Scheduling/TrainProgram.h"

#include "llvm/ADT/DenseMap.h"

#include <optional>

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_ORDERINSTRUCTIONSPASS
#include "passes/Scheduling/Passes.h.inc"

namespace {

/// The fused ops of a program as a ScheduleGraph.
class ProgramGraph {
public:
  explicit ProgramGraph(func::FuncOp program) : program(program) {
    findHostUpdates();
    addArguments();
    for (FusedOp op : program.getOps<FusedOp>())
      addOp(op);
    pinResults();
    orderAmongRoles();
    orderTurns();
    delayRecomputed();
    orderUpdates();
    orderLate();
  }

  SmallVector<FusedOp> getOrder() const {
    SmallVector<FusedOp> ordered;
    for (unsigned node : graph.order())
      if (ops[node])
        ordered.push_back(ops[node]);
    return ordered;
  }

private:
  void findHostUpdates();
  void addArguments();
  void addOp(FusedOp op);
  unsigned addSend(Value root);
  void pinResults();
  void orderAmongRoles();
  void orderTurns();
  void orderUpdates();
  void orderLate();
  void delayRecomputed();

  func::FuncOp program;
  ScheduleGraph graph;
  SmallVector<FusedOp> ops; // by node; null: what is sent to the host
  llvm::DenseMap<Value, unsigned> buffers;  // by root
  llvm::DenseMap<Value, unsigned> onHost;   // copies of roots there
  llvm::SmallPtrSet<Operation *, 16> hosts; // ops that run there
  llvm::DenseMap<Operation *, unsigned> nodes;
};

} // namespace

static int64_t roomOf(Value value) {
  return sched::alignUp(sched::getByteSize(cast<ShapedType>(value.getType())));
}

/// Ops that write over the old values of states that the host updates.
void ProgramGraph::findHostUpdates() {
  llvm::DenseSet<Attribute> states;
  auto module = program->getParentOfType<ModuleOp>();
  for (auto state : module.getOps<StateOp>())
    if (state.getHostUpdate())
      states.insert(FlatSymbolRefAttr::get(state.getSymNameAttr()));
  if (states.empty())
    return;
  for (auto [index, operand] :
       llvm::enumerate(getReturn(program).getOperands())) {
    auto op = getTensorRoot(operand).getDefiningOp<FusedOp>();
    if (op && states.contains(getResultState(program, index)) &&
        !op.getLibrary() && isElementwise(op.getBody().front()) &&
        llvm::any_of(op.getInputs(), [&](Value input) {
          return states.contains(getArgumentState(getTensorRoot(input)));
        }))
      hosts.insert(op);
  }
}

void ProgramGraph::addArguments() {
  for (BlockArgument argument : program.getArguments()) {
    bool isState = static_cast<bool>(getArgumentState(argument));
    buffers[argument] =
        graph.addBuffer(isState ? 0 : roomOf(argument), /*pinned=*/isState);
  }
}

/// A copy to the host, whose memory costs the device nothing: whatever else
/// reads the value frees its room.
unsigned ProgramGraph::addSend(Value root) {
  auto [known, isNew] = onHost.try_emplace(root, 0);
  if (isNew) {
    known->second = graph.addBuffer(0, /*pinned=*/false);
    graph.addNode(buffers.at(root), known->second);
    ops.push_back(FusedOp());
  }
  return known->second;
}

void ProgramGraph::addOp(FusedOp op) {
  SmallVector<unsigned> reads, writes;
  const bool isHosts = hosts.contains(op);
  for (Value operand : op.getInputs()) {
    Value root = getTensorRoot(operand);
    reads.push_back(isHosts && !isa<BlockArgument>(root) ? addSend(root)
                                                         : buffers.at(root));
  }
  for (Value result : op.getResults()) {
    unsigned buffer =
        graph.addBuffer(isHosts ? 0 : roomOf(result), /*pinned=*/false);
    buffers[result] = buffer;
    writes.push_back(buffer);
  }
  nodes[op] = graph.addNode(reads, writes, op.getWorkspaceBytes());
  ops.push_back(op);
}

void ProgramGraph::pinResults() {
  for (Value operand : getReturn(program).getOperands())
    graph.getBuffer(buffers.at(getTensorRoot(operand))).pinned = true;
}

void ProgramGraph::orderAmongRoles() {
  std::optional<unsigned> before;
  for (auto [node, op] : llvm::enumerate(ops))
    if (op && isAmongRoles(op)) {
      if (before)
        graph.addOrder(*before, node);
      before = node;
    }
}

// Blocks of keys that go round ranks come one behind the other: those of a
// later turn would have what comes in all turns before held meanwhile.
// Gradients are on their way before the next block, behind which that hides.
void ProgramGraph::orderTurns() {
  for (FusedOp turn : ops)
    if (turn && goesRound(turn))
      forEachTurnOrder(turn, [&](FusedOp before, FusedOp block) {
        if (nodes.at(before) < nodes.at(block))
          graph.addOrder(nodes.at(before), nodes.at(block));
      });
}

// Updates of states move, so that nothing may wait for them.
void ProgramGraph::delayRecomputed() {
  DenseSet<Operation *> updates;
  for (Value operand : getReturn(program).getOperands())
    updates.insert(getTensorRoot(operand).getDefiningOp());
  std::optional<unsigned> before;
  for (auto [node, op] : llvm::enumerate(ops)) {
    if (!op)
      continue;
    if (op.getRecomputed()) {
      if (before)
        graph.addOrder(*before, node);
    } else if (!updates.contains(op)) {
      before = node;
    }
  }
}

void ProgramGraph::orderUpdates() {
  llvm::DenseMap<Attribute, Value> oldValues;
  for (BlockArgument argument : program.getArguments())
    if (FlatSymbolRefAttr state = getArgumentState(argument))
      oldValues[state] = argument;
  for (auto [index, operand] :
       llvm::enumerate(getReturn(program).getOperands())) {
    Value root = getTensorRoot(operand);
    FlatSymbolRefAttr state = getResultState(program, index);
    auto update = root.getDefiningOp<FusedOp>();
    if (!state || !update)
      continue;
    SmallVector<unsigned> readers;
    if (Value old = oldValues.lookup(state))
      for (unsigned reader : graph.getBuffer(buffers.at(old)).readers)
        if (reader != nodes.at(update))
          readers.push_back(reader);
    // Written over the old value, the new one takes no room of its own.
    if (graph.tryOrder(readers, nodes.at(update)))
      graph.getBuffer(buffers.at(root)).bytes = 0;
  }
}

// Late ops run after all the ops whose gradients are kept for them.
void ProgramGraph::orderLate() {
  SmallVector<unsigned> kept;
  for (FusedOp op : ops)
    if (op && !op.getKeptGradients().empty())
      kept.push_back(nodes.at(op));
  for (FusedOp op : ops)
    if (op && op.getLate())
      graph.tryOrder(kept, nodes.at(op));
}

namespace {

struct OrderInstructionsPass
    : impl::OrderInstructionsPassBase<OrderInstructionsPass> {
  void runOnOperation() override {
    func::FuncOp program = getOperation();
    if (program.isExternal())
      return;
    if (failed(checkProgram(program)))
      return signalPassFailure();
    ProgramGraph graph(program);
    SmallVector<FusedOp> order = graph.getOrder();
    for (auto [before, after] : llvm::zip(program.getOps<FusedOp>(), order))
      numMoved += before != after;
    applyOrder(program, order);
  }
};

} // namespace
} // namespace zc
