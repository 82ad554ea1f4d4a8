//===- Precedence.cpp - an acyclic graph that grows -----------------------===//
#include "passes/Fusion/Precedence.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace zc {

void Precedence::addNode() {
  // In front of all others; they are numbered as they come.
  nodes.push_back({{}, {}, -int(nodes.size())});
}

/// The nodes on paths from `start`, itself included, that lie no farther in the
/// order than `limit`.
SmallVector<int> Precedence::findReached(int start, int limit, Way way) const {
  SmallVector<int> found = {start};
  DenseSet<int> seen = {start};
  for (size_t i = 0; i < found.size(); ++i) {
    const Node &node = nodes[found[i]];
    for (int next : way == Way::Forwards ? node.after : node.before) {
      const int place = nodes[next].place;
      const bool isNear =
          way == Way::Forwards ? place <= limit : place >= limit;
      if (isNear && seen.insert(next).second)
        found.push_back(next);
    }
  }
  return found;
}

void Precedence::addEdge(int from, int to) {
  if (is_contained(nodes[from].after, to))
    return;
  nodes[from].after.push_back(to);
  nodes[to].before.push_back(from);
  const int last = nodes[from].place, first = nodes[to].place;
  if (last < first)
    return;
  // The nodes in front of `from` and those behind `to` share their places anew.
  auto byPlace = [&](int a, int b) { return nodes[a].place < nodes[b].place; };
  SmallVector<int> moved = findReached(from, first, Way::Backwards);
  SmallVector<int> behind = findReached(to, last, Way::Forwards);
  sort(moved, byPlace);
  sort(behind, byPlace);
  append_range(moved, behind);
  SmallVector<int> places;
  for (int node : moved)
    places.push_back(nodes[node].place);
  sort(places);
  for (auto [node, place] : zip(moved, places))
    nodes[node].place = place;
}

bool Precedence::leads(ArrayRef<int> starts, int end) const {
  SmallVector<int> work;
  DenseSet<int> seen;
  auto visit = [&](int node) {
    if (nodes[node].place <= nodes[end].place && seen.insert(node).second)
      work.push_back(node);
  };
  for (int start : starts)
    visit(start);
  while (!work.empty()) {
    const int node = work.pop_back_val();
    if (node == end)
      return true;
    for (int next : nodes[node].after)
      visit(next);
  }
  return false;
}

} // namespace zc
