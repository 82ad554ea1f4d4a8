//===- ScheduleGraph.cpp - which order needs little memory ----------------===//
//
// List scheduling. Finding the order of least memory is NP-hard; the order that
// autodiff writes is good already, so it is kept but for two things: an op that
// shrinks the live bytes runs at once (an update frees its gradient), and
// optionally an op that depends on nothing live waits for its first reader.
// Optionally an op that shrinks them with its only reader runs at once, too.
// The best candidate wins.
//
//===----------------------------------------------------------------------===//
#include "passes/Scheduling/ScheduleGraph.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cassert>
#include <set>

using namespace llvm;

namespace zc {

// Results of this size may come early: it costs nothing, and much may depend on
// them, as all updates do on Adam's bias corrections.
static constexpr int64_t kNegligibleBytes = 1024;

// Ops that each have one reader, of which the last shrinks the live bytes: a
// gradient is widened to be sent, and a part of the sum is kept.
static constexpr unsigned kLongestChain = 4;

// An order that frees less early must need less by this part at the peak: an
// update right after its gradient finds that in the caches.
static constexpr int64_t kWorthwhile = 1000;

unsigned ScheduleGraph::addBuffer(int64_t bytes, bool pinned) {
  buffers.emplace_back();
  buffers.back().bytes = bytes;
  buffers.back().pinned = pinned;
  return buffers.size() - 1;
}

unsigned ScheduleGraph::addNode(ArrayRef<unsigned> reads,
                                ArrayRef<unsigned> writes, int64_t scratch) {
  unsigned index = nodes.size();
  nodes.emplace_back();
  nodes[index].scratch = scratch;
  for (unsigned read : reads) {
    if (is_contained(nodes[index].reads, read))
      continue;
    nodes[index].reads.push_back(read);
    buffers[read].readers.push_back(index);
    if (buffers[read].writer >= 0)
      addEdge(buffers[read].writer, index);
  }
  for (unsigned write : writes) {
    nodes[index].writes.push_back(write);
    buffers[write].writer = static_cast<int>(index);
  }
  return index;
}

void ScheduleGraph::addEdge(unsigned from, unsigned to) {
  nodes[from].successors.push_back(to);
  ++nodes[to].numPredecessors;
}

// Updates have few descendants, so the search from `node` is short.
bool ScheduleGraph::tryOrder(ArrayRef<unsigned> before, unsigned node) {
  DenseSet<unsigned> wanted(before.begin(), before.end());
  DenseSet<unsigned> seen;
  SmallVector<unsigned> stack{node};
  while (!stack.empty()) {
    unsigned current = stack.pop_back_val();
    if (wanted.contains(current))
      return false;
    for (unsigned successor : nodes[current].successors)
      if (seen.insert(successor).second)
        stack.push_back(successor);
  }
  for (unsigned first : before)
    addEdge(first, node);
  nodes[node].constrained = !before.empty();
  return true;
}

int64_t ScheduleGraph::peakBytes(ArrayRef<unsigned> order) const {
  std::vector<unsigned> readersLeft;
  int64_t live = 0;
  for (const Buffer &buffer : buffers) {
    readersLeft.push_back(buffer.readers.size());
    if (buffer.writer < 0)
      live += buffer.bytes;
  }
  int64_t peak = live;
  for (unsigned index : order) {
    const Node &node = nodes[index];
    for (unsigned write : node.writes)
      live += buffers[write].bytes;
    peak = std::max(peak, live + node.scratch);
    for (unsigned read : node.reads)
      if (--readersLeft[read] == 0 && !buffers[read].pinned)
        live -= buffers[read].bytes;
    for (unsigned write : node.writes)
      if (buffers[write].readers.empty() && !buffers[write].pinned)
        live -= buffers[write].bytes;
  }
  return peak;
}

/// One run over the graph; n log n in nodes and edges.
class ListScheduler {
public:
  struct Policy {
    bool shrinkEarly;
    bool sinkSources;
    bool lookAhead; // along chains, for what shrinks
  };

  ListScheduler(const ScheduleGraph &graph, Policy policy);
  std::vector<unsigned> run();

private:
  bool isSource(unsigned node) const;
  int64_t growth(unsigned node) const;
  int64_t growthOfChain(unsigned node) const;
  void considerShrinker(unsigned node);
  void makeReady(unsigned node);
  void schedule(unsigned node);
  void scheduleSources(unsigned node);

  const ScheduleGraph &graph;
  Policy policy;
  std::vector<unsigned> predecessorsLeft;
  std::vector<unsigned> readersLeft;    // per buffer
  std::vector<unsigned> readersLeftXor; // per buffer: their numbers, xor-ed
  std::vector<SmallVector<unsigned, 2>> sourcesOf; // per node
  BitVector source, done;
  std::set<unsigned> ready;
  std::set<std::pair<int64_t, unsigned>> shrinkers; // of the ready ones
  std::vector<unsigned> order;
};

ListScheduler::ListScheduler(const ScheduleGraph &graph, Policy policy)
    : graph(graph), policy(policy), sourcesOf(graph.numNodes()),
      source(graph.numNodes()), done(graph.numNodes()) {
  for (const ScheduleGraph::Buffer &buffer : graph.buffers) {
    readersLeft.push_back(buffer.readers.size());
    unsigned all = 0;
    for (unsigned reader : buffer.readers)
      all ^= reader;
    readersLeftXor.push_back(all);
  }
  for (const ScheduleGraph::Node &node : graph.nodes)
    predecessorsLeft.push_back(node.numPredecessors);
  if (!policy.sinkSources)
    return;
  for (unsigned node = 0; node < graph.numNodes(); ++node) {
    if (!isSource(node))
      continue;
    source.set(node);
    for (unsigned successor : graph.nodes[node].successors) {
      sourcesOf[successor].push_back(node);
      --predecessorsLeft[successor];
    }
  }
}

// Frees nothing and waits for nothing: may run at any time.
bool ListScheduler::isSource(unsigned index) const {
  const ScheduleGraph::Node &node = graph.nodes[index];
  if (node.numPredecessors != 0 || node.constrained)
    return false;
  auto takesRoom = [&](unsigned b) { return graph.buffers[b].bytes > 0; };
  return none_of(node.reads, takesRoom) && all_of(node.writes, takesRoom);
}

/// Bytes that are live after the node more than before.
int64_t ListScheduler::growth(unsigned index) const {
  const ScheduleGraph::Node &node = graph.nodes[index];
  int64_t bytes = 0;
  for (unsigned write : node.writes)
    bytes += graph.buffers[write].bytes;
  for (unsigned read : node.reads)
    if (readersLeft[read] == 1 && !graph.buffers[read].pinned)
      bytes -= graph.buffers[read].bytes;
  return bytes;
}

/// The same behind its only reader, and so on, where that is less.
int64_t ListScheduler::growthOfChain(unsigned index) const {
  int64_t least = growth(index), bytes = least;
  for (unsigned length = 1; least >= 0 && length < kLongestChain; ++length) {
    const ScheduleGraph::Node &node = graph.nodes[index];
    if (node.writes.size() != 1)
      break;
    const ScheduleGraph::Buffer &written = graph.buffers[node.writes[0]];
    if (written.readers.size() != 1 ||
        predecessorsLeft[written.readers[0]] != 1)
      break;
    index = written.readers[0];
    bytes += growth(index);
    least = std::min(least, bytes);
  }
  return least;
}

void ListScheduler::considerShrinker(unsigned index) {
  if (!policy.shrinkEarly)
    return;
  int64_t allocated = 0;
  for (unsigned write : graph.nodes[index].writes)
    allocated += graph.buffers[write].bytes;
  int64_t bytes = policy.lookAhead ? growthOfChain(index) : growth(index);
  if (bytes < 0 || allocated <= kNegligibleBytes)
    shrinkers.insert({bytes, index});
}

void ListScheduler::makeReady(unsigned node) {
  ready.insert(node);
  considerShrinker(node);
}

void ListScheduler::scheduleSources(unsigned node) {
  for (unsigned needed : sourcesOf[node])
    if (!done.test(needed))
      schedule(needed);
}

void ListScheduler::schedule(unsigned index) {
  const ScheduleGraph::Node &node = graph.nodes[index];
  order.push_back(index);
  done.set(index);
  for (unsigned read : node.reads) {
    readersLeftXor[read] ^= index;
    // The one reader that is left may have become a shrinker.
    if (--readersLeft[read] == 1 && ready.count(readersLeftXor[read]))
      considerShrinker(readersLeftXor[read]);
  }
  if (source.test(index))
    return;
  for (unsigned successor : node.successors)
    if (--predecessorsLeft[successor] == 0)
      makeReady(successor);
}

std::vector<unsigned> ListScheduler::run() {
  for (unsigned node = 0; node < graph.numNodes(); ++node)
    if (!source.test(node) && predecessorsLeft[node] == 0)
      makeReady(node);
  while (!ready.empty()) {
    unsigned next = *ready.begin();
    if (!shrinkers.empty()) {
      next = shrinkers.begin()->second;
      shrinkers.erase(shrinkers.begin());
      // An older, larger estimate of a node that has run since.
      if (!ready.count(next))
        continue;
    }
    ready.erase(next);
    scheduleSources(next);
    schedule(next);
  }
  // Nobody reads these.
  for (unsigned node : source.set_bits())
    if (!done.test(node))
      schedule(node);
  assert(order.size() == graph.numNodes() && "the graph has a cycle");
  return std::move(order);
}

std::vector<unsigned> ScheduleGraph::order() const {
  std::vector<unsigned> best;
  int64_t bestPeak = 0;
  for (ListScheduler::Policy policy :
       {ListScheduler::Policy{true, false, false},
        ListScheduler::Policy{true, true, false},
        ListScheduler::Policy{false, false, false},
        ListScheduler::Policy{true, false, true},
        ListScheduler::Policy{true, true, true}}) {
    std::vector<unsigned> candidate = ListScheduler(*this, policy).run();
    int64_t peak = peakBytes(candidate);
    if (best.empty() || peak + bestPeak / kWorthwhile < bestPeak) {
      best = std::move(candidate);
      bestPeak = peak;
    }
  }
  return best;
}

} // namespace zc
