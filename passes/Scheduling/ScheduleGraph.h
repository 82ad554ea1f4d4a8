//===- ScheduleGraph.h - which order needs little memory --------*- C++ -*-===//
#ifndef ZC_PASSES_SCHEDULING_SCHEDULEGRAPH_H
#define ZC_PASSES_SCHEDULING_SCHEDULEGRAPH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <vector>

namespace zc {

/// A program as nodes that read and write buffers. Nodes are numbered in the
/// order in which they came, which must be a legal one without the edges of
/// `tryOrder`.
class ScheduleGraph {
public:
  struct Buffer {
    int64_t bytes = 0;   // 0: persistent, its room does not depend on the order
    bool pinned = false; // lives to the end of the program
    int writer = -1;     // -1: there from the start
    llvm::SmallVector<unsigned, 4> readers; // distinct nodes
  };

  unsigned addBuffer(int64_t bytes, bool pinned);
  /// Reads may name a buffer more than once. `scratch` bytes live only while
  /// the node runs.
  unsigned addNode(llvm::ArrayRef<unsigned> reads,
                   llvm::ArrayRef<unsigned> writes, int64_t scratch = 0);
  unsigned numNodes() const { return nodes.size(); }
  Buffer &getBuffer(unsigned buffer) { return buffers[buffer]; }

  /// Demands that `first` runs before the later node `second`.
  void addOrder(unsigned first, unsigned second) { addEdge(first, second); }

  /// Demands that all of `before` run before `node`. Changes nothing and
  /// returns false if one of them depends on `node`.
  bool tryOrder(llvm::ArrayRef<unsigned> before, unsigned node);

  /// The most bytes live at once if the nodes run in this order.
  int64_t peakBytes(llvm::ArrayRef<unsigned> order) const;

  /// An order that respects data and `tryOrder`, and needs little memory.
  std::vector<unsigned> order() const;

private:
  friend class ListScheduler;

  struct Node {
    llvm::SmallVector<unsigned, 4> reads; // distinct
    llvm::SmallVector<unsigned, 2> writes;
    llvm::SmallVector<unsigned, 4> successors;
    unsigned numPredecessors = 0; // counts an edge as often as it stands there
    bool constrained = false;     // has an edge of `tryOrder` into it
    int64_t scratch = 0;
  };

  void addEdge(unsigned from, unsigned to);

  std::vector<Node> nodes;
  std::vector<Buffer> buffers;
};

} // namespace zc

#endif // ZC_PASSES_SCHEDULING_SCHEDULEGRAPH_H
