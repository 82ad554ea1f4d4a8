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
      ordered.push_back(ops[node]);
    return ordered;
  }

  ArrayRef<FusedOp> getOps() const { return ops; }

private:
  void addArguments();
  void addOp(FusedOp op);
  void pinResults();
  void orderAmongRoles();
  void orderTurns();
  void orderUpdates();
  void orderLate();
  void delayRecomputed();

  func::FuncOp program;
  ScheduleGraph graph;
  SmallVector<FusedOp> ops;
  llvm::DenseMap<Value, unsigned> buffers; // by root
  llvm::DenseMap<Operation *, unsigned> nodes;
};

} // namespace

static int64_t roomOf(Value value) {
  return sched::alignUp(sched::getByteSize(cast<ShapedType>(value.getType())));
}

void ProgramGraph::addArguments() {
  for (BlockArgument argument : program.getArguments()) {
    bool isState = static_cast<bool>(getArgumentState(argument));
    buffers[argument] =
        graph.addBuffer(isState ? 0 : roomOf(argument), /*pinned=*/isState);
  }
}

void ProgramGraph::addOp(FusedOp op) {
  SmallVector<unsigned> reads, writes;
  for (Value operand : op.getInputs())
    reads.push_back(buffers.at(getTensorRoot(operand)));
  for (Value result : op.getResults()) {
    unsigned buffer = graph.addBuffer(roomOf(result), /*pinned=*/false);
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
    if (isAmongRoles(op)) {
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
    if (goesRound(turn))
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
    if (op->hasAttr(kKeptGradientsAttr))
      kept.push_back(nodes.at(op));
  for (FusedOp op : ops)
    if (op->hasAttr(kLateAttr))
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
    for (auto [before, after] : llvm::zip(graph.getOps(), order))
      numMoved += before != after;
    applyOrder(program, order);
  }
};

} // namespace
} // namespace zc
