//===- Precedence.h - an acyclic graph that grows ----------------*- C++
//-*-===//
#ifndef ZC_PASSES_FUSION_PRECEDENCE_H
#define ZC_PASSES_FUSION_PRECEDENCE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace zc {

/// An acyclic graph with its nodes in a topological order, which edges that are
/// added change only between their ends (Pearce and Kelly, "A dynamic
/// topological sort algorithm for directed acyclic graphs", JEA 11, 2006).
class Precedence {
public:
  size_t size() const { return nodes.size(); }

  /// A node that nothing leads to; it gets the next number.
  void addNode();

  /// The edge must close no cycle.
  void addEdge(int from, int to);

  /// Whether a path leads from one of `starts` to `end`.
  bool leads(llvm::ArrayRef<int> starts, int end) const;

private:
  struct Node {
    llvm::SmallVector<int> after, before;
    int place; // in the order
  };
  enum class Way { Forwards, Backwards };
  llvm::SmallVector<int> findReached(int start, int limit, Way way) const;

  llvm::SmallVector<Node> nodes;
};

} // namespace zc

#endif // ZC_PASSES_FUSION_PRECEDENCE_H
