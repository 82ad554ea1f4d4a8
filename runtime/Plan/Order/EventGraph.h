// The orders of all roles as one graph of dependences, if nothing is buffered.
// A message is in flight once both ends have begun it. Without a circle, no
// timing of roles and messages can bring them to a halt.
#ifndef ZC_RUNTIME_PLAN_ORDER_EVENTGRAPH_H
#define ZC_RUNTIME_PLAN_ORDER_EVENTGRAPH_H

#include "runtime/Plan/Order/RoleUse.h"

#include <optional>

namespace zc {

/// One phase of a manifest whose orders have sound indices. Nodes are the
/// actions, one role after another, and behind them the messages' transfers.
class EventGraph {
public:
  EventGraph(const plan::Manifest &manifest, const std::vector<RoleUse> &uses,
             Phase phase);

  /// The time from the first action to the last, where a forward, a backward
  /// and the weights split off it take 1 each and all else nothing; none where
  /// some wait for each other.
  std::optional<uint64_t> makespan() const;

  /// The events that wait for each other, for a message; empty where none do.
  std::string printCircle() const;

private:
  struct Transfer {
    uint32_t message, microBatch; // the message's id
  };
  struct End; // of a role's messages, while its order is walked

  void addRole(uint32_t role);
  void addMove(End &end, const plan::Message &message, const plan::Move &move,
               uint32_t node);
  uint32_t transferNode(uint32_t message, uint32_t microBatch);
  void addEdge(uint32_t from, uint32_t to) { edges.push_back({from, to}); }
  std::string printNode(uint32_t node) const;
  /// For every node, how many have to come before and are not `ordered` yet.
  std::vector<uint32_t> order(uint64_t &makespan) const;

  const plan::Manifest &manifest;
  const std::vector<RoleUse> &uses;
  const Phase phase;
  std::vector<uint32_t> firstNodes; // of roles, and of transfers
  std::vector<uint32_t> costs;      // of actions
  std::vector<Transfer> transfers;  // sorted
  std::vector<std::pair<uint32_t, uint32_t>> edges;
};

} // namespace zc

#endif // ZC_RUNTIME_PLAN_ORDER_EVENTGRAPH_H
