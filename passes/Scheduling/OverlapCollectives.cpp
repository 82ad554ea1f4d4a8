//===- OverlapCollectives.cpp - --zc-overlap-collectives ------------------===//
//
// List scheduling on two streams. Ops keep the order that needs little memory,
// but for those that would stand and wait: they let others go ahead until a
// cost model says that what they read has arrived; and what could be done while
// an exchange takes place is not done before.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/DistDialect.h"
#include "dialects/Sched/SchedDialect.h"
#include "passes/Analysis/ForwardOps.h"
#include "passes/Scheduling/Passes.h"
#include "passes/Scheduling/RingTurns.h"
#include "passes/Scheduling/TrainProgram.h"
#include "passes/Target/Target.h"

#include "llvm/ADT/DenseMap.h"

#include <deque>
#include <map>
#include <set>

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_OVERLAPCOLLECTIVESPASS
#include "passes/Scheduling/Passes.h.inc"

namespace {

struct Node {
  FusedOp op;
  bool isCollective = false;
  bool isGather = false; // a collective that could begin long ahead
  bool isDue = false;    // such a one, as soon as its operand is there
  double seconds = 0;
  SmallVector<unsigned> successors;
  SmallVector<unsigned> followers; // they wait for its place alone
  unsigned numMissing = 0;         // predecessors that have no place yet
  unsigned turn = 0;  // among those that are ready, the least goes first
  double arrival = 0; // of all that it reads
  int gathers = -1;   // the ones that it is the first to read
};

/// One program.
class Overlap {
public:
  Overlap(func::FuncOp program, int64_t prefetch);

  SmallVector<FusedOp> run();

private:
  void addNode(FusedOp op);
  void addEdge(unsigned from, unsigned to);
  void addData(unsigned node);
  void saveWork();
  void saveBefore(unsigned exchange);
  bool isMovable(unsigned index) const;
  bool outlives(Value operand, unsigned exchange) const;
  void keepOrder();
  void orderTurns();
  std::vector<bool> findLateGrowth() const;
  int64_t countGrowth(unsigned index) const;
  void orderUpdates();
  unsigned findBlock(unsigned index);
  void groupGathers();

  void beginGathers(int until);
  void place(unsigned index);
  void makeReady(unsigned index);
  double send(const Node &node);

  func::FuncOp program;
  int64_t prefetch;
  std::vector<Node> nodes;
  DenseMap<Operation *, unsigned> numbers;
  DenseSet<Operation *> updates;
  std::vector<SmallVector<unsigned>> gatherGroups; // with one first reader
  int numBegun = 0;                                // of these groups

  double now = 0, linkFree = 0;
  std::set<std::pair<unsigned, unsigned>> ready;     // turn, number
  std::set<std::pair<double, unsigned>> waiting;     // for what arrives then
  std::deque<std::pair<double, int64_t>> reductions; // under way: end, bytes
  int64_t reducedBytes = 0, mostReducedBytes = 0;
  SmallVector<FusedOp> order;
};

} // namespace

/// Whether the backward fetches or computes again what the forward let go of.
static bool isOfBackward(FusedOp op) {
  return llvm::any_of(op.getBody().front(), [](Operation &inner) {
    return dist::getPass(&inner) == dist::StepPass::Backward;
  });
}

static int64_t bytesSent(FusedOp op) {
  return sched::getByteSize(cast<ShapedType>(op.getInputs().front().getType()));
}

Overlap::Overlap(func::FuncOp program, int64_t prefetch)
    : program(program), prefetch(prefetch) {
  for (Value operand : getReturn(program).getOperands())
    updates.insert(getTensorRoot(operand).getDefiningOp());
  for (FusedOp op : program.getOps<FusedOp>())
    addNode(op);
  saveWork();
  orderUpdates();
  groupGathers();
  keepOrder();
  orderTurns();
}

static double estimateCollectiveSeconds(FusedOp op) {
  return getTarget(op).collectiveSeconds(&op.getBody().front().front());
}

void Overlap::addNode(FusedOp op) {
  unsigned index = nodes.size();
  numbers[op] = index;
  Node &node = nodes.emplace_back();
  node.op = op;
  node.turn = index;
  node.isCollective = isCollective(op);
  node.seconds =
      node.isCollective ? estimateCollectiveSeconds(op) : estimateSeconds(op);
  addData(index);
  if (!node.isCollective)
    return;
  // A gather that the backward repeats must not start as early as it can: its
  // result, which the forward released, would be kept after all. Sums over
  // roles have an order of their own, which waits for no reader's turn.
  node.isGather =
      !isAmongRoles(op) && (node.numMissing == 0 || op.getPrefetched() ||
                            isOfBackward(op) || goesRound(op));
  if (!node.isGather)
    mostReducedBytes = std::max(mostReducedBytes, 2 * bytesSent(op));
}

void Overlap::addEdge(unsigned from, unsigned to) {
  nodes[from].successors.push_back(to);
  ++nodes[to].numMissing;
}

void Overlap::addData(unsigned node) {
  llvm::SmallDenseSet<Operation *> producers;
  for (Value operand : nodes[node].op.getInputs())
    if (Operation *producer = getTensorRoot(operand).getDefiningOp())
      if (producers.insert(producer).second)
        addEdge(numbers.at(producer), node);
}

/// Whether ranks exchange values computed for one another, as tokens of
/// experts: their readers can only wait.
static bool isExchange(FusedOp op) {
  return isCollective(op) &&
         isa<dist::AllToAllOp>(op.getBody().front().front());
}

/// Work that stands in front of an exchange although neither side of it needs
/// the other, as a shared expert's products beside those that tokens travel to,
/// is saved for the time of the exchange.
void Overlap::saveWork() {
  for (unsigned index = 0; index < nodes.size(); ++index)
    if (isExchange(nodes[index].op))
      saveBefore(index);
}

/// Whether something may stand later than where little memory wants it.
bool Overlap::isMovable(unsigned index) const {
  const Node &node = nodes[index];
  return !node.isCollective && !node.successors.empty() && node.turn == index &&
         !updates.contains(node.op) && !FusedOp(node.op).getRecomputed() &&
         !FusedOp(node.op).getLate() &&
         FusedOp(node.op).getKeptGradients().empty();
}

/// Whether an operand is kept beyond an exchange anyhow.
bool Overlap::outlives(Value operand, unsigned exchange) const {
  Operation *producer = getTensorRoot(operand).getDefiningOp();
  if (!producer)
    return true;
  ArrayRef<unsigned> readers = nodes[numbers.lookup(producer)].successors;
  return llvm::any_of(readers, [&](unsigned reader) {
    return reader > exchange && nodes[reader].turn == reader;
  });
}

void Overlap::saveBefore(unsigned exchange) {
  // Ops whose readers all come behind have their turn in front of the first.
  DenseMap<unsigned, unsigned> turns;
  for (unsigned index = exchange; index-- > 0;) {
    unsigned turn = nodes.size();
    for (unsigned reader : nodes[index].successors) {
      auto found = turns.find(reader);
      turn = std::min(turn, found == turns.end() ? reader : found->second);
    }
    if (isMovable(index) && turn > exchange)
      turns[index] = turn;
  }
  DenseSet<Operation *> saved;
  for (unsigned index = 0; index < exchange; ++index) {
    auto found = turns.find(index);
    bool keepsMemory =
        found != turns.end() &&
        llvm::all_of(nodes[index].op.getInputs(), [&](Value operand) {
          return saved.contains(getTensorRoot(operand).getDefiningOp()) ||
                 outlives(operand, exchange);
        });
    if (!keepsMemory)
      continue;
    nodes[index].turn = found->second;
    saved.insert(nodes[index].op);
  }
}

/// A state's new value comes behind the readers of the old that stood before.
void Overlap::orderUpdates() {
  DenseMap<Attribute, SmallVector<unsigned>> readers;
  for (auto [index, node] : llvm::enumerate(nodes))
    for (Value operand : node.op.getInputs())
      if (FlatSymbolRefAttr state = getArgumentState(getTensorRoot(operand)))
        readers[state].push_back(index);
  for (auto [index, operand] :
       llvm::enumerate(getReturn(program).getOperands())) {
    FlatSymbolRefAttr state = getResultState(program, index);
    Operation *update = getTensorRoot(operand).getDefiningOp();
    if (!state || !update)
      continue;
    for (unsigned reader : readers[state])
      if (reader < numbers.at(update))
        addEdge(reader, numbers.at(update));
  }
}

/// Whether an op takes the time that a transfer hides behind.
static bool isBlock(FusedOp op) {
  return op.getLibrary() || llvm::any_of(op.getBody().front(), [](auto &inner) {
           return isa<AttentionOp, AttentionGradOp>(inner);
         });
}

/// The bytes of an op's results less those of all that it reads.
int64_t Overlap::countGrowth(unsigned index) const {
  FusedOp op = nodes[index].op;
  int64_t bytes = 0;
  for (Value result : op.getResults())
    bytes += sched::getByteSize(cast<ShapedType>(result.getType()));
  llvm::SmallDenseSet<Value> read;
  for (Value operand : op.getInputs())
    if (auto type = dyn_cast<ShapedType>(operand.getType());
        type && read.insert(operand).second)
      bytes -= sched::getByteSize(type);
  return bytes;
}

/// The ops of the backward that make kept values of the forward larger (16 bits
/// that become 32, zeros behind the elements): products stand between what they
/// read and themselves. Before their turn there would be more to keep. Values
/// that the backward computes itself may become larger as soon as they can.
std::vector<bool> Overlap::findLateGrowth() const {
  const DenseSet<Operation *> forward = findForwardOps(program);
  std::vector<int> producer(nodes.size(), -1);
  std::vector<bool> isKept(nodes.size(), true); // it, or what it is made of
  std::vector<bool> found(nodes.size());
  int block = -1; // the last one before
  for (unsigned index = 0; index < nodes.size(); ++index) {
    const Node &node = nodes[index];
    const bool takesTime = isBlock(node.op);
    const bool isOfForward = forward.contains(node.op);
    if (!isOfForward && takesTime)
      isKept[index] = false;
    found[index] = !isOfForward && isKept[index] && producer[index] >= 0 &&
                   producer[index] < block && countGrowth(index) > 0;
    if (takesTime && !node.isCollective)
      block = int(index);
    for (unsigned reader : node.successors) {
      producer[reader] = std::max(producer[reader], int(index));
      isKept[reader] = isKept[reader] && isKept[index];
    }
  }
  return found;
}

/// Ops without dependences, recomputed ops and those that make kept values
/// larger keep their order, for memory's sake; gradients that are kept for all
/// come before the ops that read them.
void Overlap::keepOrder() {
  const std::vector<bool> growsLate = findLateGrowth();
  std::optional<unsigned> before, amongRoles;
  SmallVector<unsigned> kept;
  for (unsigned index = 0; index < nodes.size(); ++index) {
    FusedOp op = nodes[index].op;
    if (isAmongRoles(op)) {
      if (amongRoles)
        addEdge(*amongRoles, index);
      amongRoles = index;
    }
    if (nodes[index].isCollective)
      continue;
    bool isFree = op.getRecomputed() || isOfBackward(op) ||
                  (growsLate[index] && nodes[index].turn == index) ||
                  nodes[index].numMissing == 0;
    if (op.getLate())
      for (unsigned other : kept)
        addEdge(other, index);
    if (!op.getKeptGradients().empty())
      kept.push_back(index);
    if (updates.contains(op))
      continue;
    if (isFree && before)
      addEdge(*before, index);
    if (nodes[index].turn == index)
      before = index;
  }
}

/// A ring's turns keep the order that --zc-order-instructions gives them: a
/// block, what it sends, and the next one, which hides that.
void Overlap::orderTurns() {
  for (const Node &node : nodes) {
    if (!goesRound(node.op))
      continue;
    forEachTurnOrder(node.op, [&](FusedOp before, FusedOp block) {
      const unsigned from = numbers.at(before), to = numbers.at(block);
      if (from < to) {
        nodes[from].followers.push_back(to);
        ++nodes[to].numMissing;
      }
    });
  }
}

/// The first block that needs what a node makes: keys and values that are
/// handed on have the same, whatever takes halves of them before. Who reads
/// something stands behind it, so that the first of all readers is the next.
unsigned Overlap::findBlock(unsigned index) {
  std::set<unsigned> readers = {index};
  while (!readers.empty()) {
    const unsigned first = *readers.begin();
    if (isBlock(nodes[first].op))
      return first;
    readers.erase(readers.begin());
    readers.insert(nodes[first].successors.begin(),
                   nodes[first].successors.end());
  }
  return index;
}

/// Gathers of states, and of values that are kept in parts, in the order of
/// their first readers. Without prefetch they stay where they are, as any other
/// op.
void Overlap::groupGathers() {
  std::map<unsigned, SmallVector<unsigned>> byReader;
  std::vector<unsigned> firstReader(nodes.size());
  for (unsigned index = nodes.size(); index-- > 0;) {
    Node &node = nodes[index];
    if (!node.isGather)
      continue;
    if (prefetch == 0 || node.successors.empty()) {
      node.isCollective = node.isGather = false;
      continue;
    }
    // A gather that hands on what another has brought has its reader in turn.
    unsigned first = nodes.size();
    const bool isHandedOn = goesRound(node.op);
    for (unsigned successor : node.successors)
      first = std::min(first, nodes[successor].isGather ? firstReader[successor]
                              : isHandedOn              ? findBlock(successor)
                                                        : successor);
    firstReader[index] = first;
    byReader[first].push_back(index);
  }
  for (auto &[reader, gathers] : byReader) {
    std::reverse(gathers.begin(), gathers.end()); // in the program's order
    nodes[reader].gathers = static_cast<int>(gatherGroups.size());
    gatherGroups.push_back(std::move(gathers));
  }
}

//===----------------------------------------------------------------------===//
// The schedule
//===----------------------------------------------------------------------===//

/// When a collective that begins now has ended.
double Overlap::send(const Node &node) {
  linkFree = std::max(now, linkFree) + node.seconds;
  if (node.isGather)
    return linkFree;
  int64_t bytes = bytesSent(node.op);
  reductions.push_back({linkFree, bytes});
  reducedBytes += bytes;
  // Their operands are needed until somebody has waited for them.
  while (reducedBytes > mostReducedBytes ||
         (!reductions.empty() && reductions.front().first <= now)) {
    auto [end, oldest] = reductions.front();
    reductions.pop_front();
    now = std::max(now, end);
    reducedBytes -= oldest;
  }
  return linkFree;
}

void Overlap::beginGathers(int until) {
  // A reader that is a collective begins others in its turn.
  while (numBegun <= until && numBegun < int(gatherGroups.size()))
    for (unsigned gather : gatherGroups[numBegun++]) {
      nodes[gather].isDue = true;
      if (nodes[gather].numMissing == 0)
        place(gather);
    }
}

void Overlap::place(unsigned index) {
  Node &node = nodes[index];
  if (node.gathers >= 0)
    beginGathers(node.gathers + int(prefetch));
  order.push_back(node.op);
  double end = now += node.isCollective ? 0 : node.seconds;
  if (node.isCollective)
    end = send(node);
  for (unsigned successor : node.successors) {
    nodes[successor].arrival = std::max(nodes[successor].arrival, end);
    if (--nodes[successor].numMissing == 0)
      makeReady(successor);
  }
  for (unsigned follower : node.followers)
    if (--nodes[follower].numMissing == 0)
      makeReady(follower);
}

void Overlap::makeReady(unsigned index) {
  if (nodes[index].isGather && !nodes[index].isDue)
    return; // its readers' turn
  if (nodes[index].isCollective)
    place(index); // the stream waits for what it sends
  else
    waiting.insert({nodes[index].arrival, index});
}

SmallVector<FusedOp> Overlap::run() {
  for (auto [index, node] : llvm::enumerate(nodes))
    if (node.numMissing == 0 && !node.isGather)
      waiting.insert({0, index});
  beginGathers(int(prefetch) - 1);
  while (order.size() < nodes.size()) {
    // Whoever is left waits for gathers whose readers have no turn without.
    if (ready.empty() && waiting.empty()) {
      assert(numBegun < int(gatherGroups.size()) && "a cycle of ops");
      beginGathers(numBegun);
      continue;
    }
    if (ready.empty())
      now = std::max(now, waiting.begin()->first);
    while (!waiting.empty() && waiting.begin()->first <= now) {
      unsigned next = waiting.begin()->second;
      ready.insert({nodes[next].turn, next});
      waiting.erase(waiting.begin());
    }
    unsigned next = ready.begin()->second;
    ready.erase(ready.begin());
    place(next);
  }
  return std::move(order);
}

/// Marks collectives that stand in front of an op that does not read them;
/// others would only make their reader wait for another thread.
static unsigned markAsync(func::FuncOp program) {
  auto ops = llvm::to_vector(program.getOps<FusedOp>());
  unsigned count = 0;
  FusedOp next; // behind, that is no async collective
  for (FusedOp op : llvm::reverse(ops)) {
    auto reads = [&](Value operand) {
      return getTensorRoot(operand).getDefiningOp() == op;
    };
    if (!isCollective(op) || isAmongRoles(op) || !next ||
        llvm::any_of(next.getInputs(), reads)) {
      next = op;
      continue;
    }
    op.setAsync(true);
    ++count;
  }
  return count;
}

namespace {

struct OverlapCollectivesPass
    : impl::OverlapCollectivesPassBase<OverlapCollectivesPass> {
  using OverlapCollectivesPassBase::OverlapCollectivesPassBase;

  void runOnOperation() override {
    func::FuncOp program = getOperation();
    if (program.isExternal())
      return;
    if (failed(checkProgram(program)))
      return signalPassFailure();
    if (llvm::none_of(program.getOps<FusedOp>(), isCollective))
      return;
    applyOrder(program, Overlap(program, prefetch).run());
    numAsync += markAsync(program);
  }
};

} // namespace
} // namespace zc
