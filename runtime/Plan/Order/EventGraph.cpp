#include "runtime/Plan/Order/EventGraph.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace zc {
namespace {

uint32_t costOf(uint32_t parts) {
  if (parts & kBackwardPart)
    parts &= ~uint32_t(kWeightsPart);
  return bool(parts & kForwardPart) + bool(parts & kBackwardPart) +
         bool(parts & kWeightsPart) + bool(parts & kEvalPart);
}

uint64_t key(uint32_t high, uint32_t low) { return uint64_t(high) << 32 | low; }

struct Pending {
  uint32_t transfer, microBatch;
  const plan::Message *message;
};

} // namespace

struct EventGraph::End {
  // Messages under way by ring and slot, and the last one of each line.
  std::unordered_map<uint64_t, std::vector<Pending>> pending;
  std::map<uint32_t, uint32_t> lastOfLine;
};

EventGraph::EventGraph(const plan::Manifest &manifest,
                       const std::vector<RoleUse> &uses, Phase phase)
    : manifest(manifest), uses(uses), phase(phase) {
  std::vector<uint64_t> keys;
  uint32_t nodes = 0;
  for (const plan::Role &role : manifest.roles()) {
    firstNodes.push_back(nodes);
    nodes += uint32_t(orderOf(role, phase).actions_size());
    for (const plan::Action &action : orderOf(role, phase).actions())
      if (const plan::Move *move = moveOf(action))
        keys.push_back(
            key(role.messages(int(move->message())).id(), move->micro_batch()));
  }
  firstNodes.push_back(nodes);
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  for (uint64_t one : keys)
    transfers.push_back({uint32_t(one >> 32), uint32_t(one)});
  for (uint32_t role = 0; role < uint32_t(manifest.roles_size()); ++role)
    addRole(role);
}

uint32_t EventGraph::transferNode(uint32_t message, uint32_t microBatch) {
  auto at = std::lower_bound(
      transfers.begin(), transfers.end(), key(message, microBatch),
      [](const Transfer &transfer, uint64_t value) {
        return key(transfer.message, transfer.microBatch) < value;
      });
  return firstNodes.back() + uint32_t(at - transfers.begin());
}

void EventGraph::addMove(End &end, const plan::Message &message,
                         const plan::Move &move, uint32_t node) {
  const uint32_t transfer = transferNode(message.id(), move.micro_batch());
  addEdge(node, transfer);
  auto [last, isFirst] = end.lastOfLine.emplace(message.line(), transfer);
  if (!isFirst)
    addEdge(std::exchange(last->second, transfer), transfer);
  end.pending[key(message.ring(), move.slot())].push_back(
      {transfer, move.micro_batch(), &message});
}

void EventGraph::addRole(uint32_t index) {
  const plan::Role &role = manifest.roles(int(index));
  const plan::Order &order = orderOf(role, phase);
  End end;
  for (int i = 0; i < order.actions_size(); ++i) {
    const plan::Action &action = order.actions(i);
    const plan::Move *move = moveOf(action);
    const uint32_t node = firstNodes[index] + uint32_t(i);
    costs.push_back(
        action.has_call()
            ? costOf(uses[index].program(action.call().program()).parts)
            : 0);
    if (i > 0)
      addEdge(node - 1, node);
    for (Touch touch : uses[index].touches(role, action)) {
      std::vector<Pending> &pending = end.pending[key(touch.ring, touch.slot)];
      auto isAwaited = [&](const Pending &one) {
        if (action.has_call())
          return awaits(uses[index].program(action.call().program()),
                        action.call().micro_batch(), *one.message,
                        one.microBatch);
        return !move || one.microBatch != move->micro_batch();
      };
      for (const Pending &one : pending)
        if (isAwaited(one))
          addEdge(one.transfer, node);
      pending.erase(std::remove_if(pending.begin(), pending.end(), isAwaited),
                    pending.end());
    }
    if (move)
      addMove(end, role.messages(int(move->message())), *move, node);
  }
}

std::vector<uint32_t> EventGraph::order(uint64_t &makespan) const {
  const size_t nodes = firstNodes.back() + transfers.size();
  std::vector<uint32_t> before(nodes), firstEdge(nodes + 1),
      targets(edges.size());
  for (auto [from, to] : edges) {
    ++before[to];
    ++firstEdge[from + 1];
  }
  for (size_t i = 0; i < nodes; ++i)
    firstEdge[i + 1] += firstEdge[i];
  std::vector<uint32_t> next(firstEdge.begin(), firstEdge.end() - 1);
  for (auto [from, to] : edges)
    targets[next[from]++] = to;
  std::vector<uint64_t> ends(nodes);
  std::vector<uint32_t> ready;
  for (uint32_t node = 0; node < nodes; ++node)
    if (before[node] == 0)
      ready.push_back(node);
  makespan = 0;
  while (!ready.empty()) {
    const uint32_t node = ready.back();
    ready.pop_back();
    ends[node] += node < costs.size() ? costs[node] : 0;
    makespan = std::max(makespan, ends[node]);
    for (uint32_t i = firstEdge[node]; i < firstEdge[node + 1]; ++i) {
      ends[targets[i]] = std::max(ends[targets[i]], ends[node]);
      if (--before[targets[i]] == 0)
        ready.push_back(targets[i]);
    }
  }
  return before;
}

std::optional<uint64_t> EventGraph::makespan() const {
  uint64_t makespan;
  for (uint32_t before : order(makespan))
    if (before > 0)
      return std::nullopt;
  return makespan;
}

std::string EventGraph::printNode(uint32_t node) const {
  if (node >= firstNodes.back()) {
    const Transfer &transfer = transfers[node - firstNodes.back()];
    return strCat("message ", transfer.message, " of micro-batch ",
                  transfer.microBatch);
  }
  const uint32_t role =
      uint32_t(std::upper_bound(firstNodes.begin(), firstNodes.end(), node) -
               firstNodes.begin() - 1);
  return printAction(manifest, role, phase, int(node - firstNodes[role]));
}

std::string EventGraph::printCircle() const {
  uint64_t makespan;
  std::vector<uint32_t> before = order(makespan);
  // Every node that was not ordered has one before it that was not, either:
  // from one to the next, backwards, until one comes again.
  constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint32_t> cause(before.size(), kNone);
  uint32_t node = kNone;
  for (auto [from, to] : edges)
    if (before[from] > 0 && before[to] > 0) {
      cause[to] = from;
      node = to;
    }
  if (node == kNone)
    return "";
  std::vector<uint32_t> seen(before.size(), 0);
  while (!seen[node]) {
    seen[node] = 1;
    node = cause[node];
  }
  std::string text = printNode(node);
  // A long circle says no more than its beginning.
  uint32_t other = cause[node];
  for (int i = 0; i < 8 && other != node; ++i, other = cause[other])
    text += ", which waits for " + printNode(other);
  return text + (other == node ? ", which waits for the first"
                               : ", and so on, which waits for the first");
}

} // namespace zc
