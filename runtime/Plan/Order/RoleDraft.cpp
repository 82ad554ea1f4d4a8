#include "runtime/Plan/Order/RoleDraft.h"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

namespace zc {
namespace {

bool contains(const std::vector<uint32_t> &sorted, uint32_t value) {
  return std::binary_search(sorted.begin(), sorted.end(), value);
}

} // namespace

RoleDraft::RoleDraft(const plan::Role &role, const RoleUse &use, Phase phase,
                     std::vector<PlannedCall> plannedCalls, bool ahead)
    : role(role), use(use), phase(phase), calls(std::move(plannedCalls)) {
  std::vector<bool> isAhead(calls.size() + 1);
  for (size_t i = 1; ahead && i < calls.size(); ++i)
    isAhead[i] = goesAhead(i);
  for (size_t i = 0; i < calls.size(); ++i) {
    if (!isAhead[i])
      addMoves(calls[i], false);
    if (isAhead[i + 1])
      addMoves(calls[i + 1], false);
    addCall(calls[i]);
    addMoves(calls[i], true);
  }
  findIntervals();
}

/// In an order in which rendezvous cannot wait in a circle within a
/// micro-batch: activations from and to low roles come first, gradients the
/// other way round.
std::vector<uint32_t> RoleDraft::messagesOf(const PlannedCall &call,
                                            bool sends) const {
  const uint32_t parts = use.program(call.program).parts;
  std::vector<uint32_t> messages;
  for (int i = 0; i < role.messages_size(); ++i)
    if (const plan::Message &message = role.messages(i);
        message.sends() == sends && isOf(message, phase) &&
        (partOf(message) & parts))
      messages.push_back(uint32_t(i));
  auto rank = [&](uint32_t index) {
    const plan::Message &message = role.messages(int(index));
    int64_t peer = message.peer();
    return std::tuple(message.gradient(), message.gradient() ? -peer : peer,
                      message.line(), message.id());
  };
  std::sort(messages.begin(), messages.end(),
            [&](uint32_t a, uint32_t b) { return rank(a) < rank(b); });
  return messages;
}

/// From the first call that needs the ring to the last, by calls' indices.
RoleDraft::Intervals RoleDraft::heldByCalls(uint32_t ring) const {
  std::map<uint32_t, Interval> held;
  for (int i = 0; i < int(calls.size()); ++i) {
    bool needs = contains(use.program(calls[i].program).rings, ring);
    for (uint32_t message : messagesOf(calls[i], false))
      needs = needs || role.messages(int(message)).ring() == ring;
    if (needs)
      held.emplace(calls[i].microBatch, Interval{calls[i].microBatch, i, i})
          .first->second.last = i;
  }
  Intervals result;
  for (const auto &[microBatch, interval] : held)
    result.push_back(interval);
  return result;
}

/// Whether the ring has a slot for the call's micro-batch at the call before.
bool RoleDraft::hasRoom(size_t call, uint32_t ring) const {
  const PlannedCall &before = calls[call - 1];
  const bool isUsed = contains(use.program(before.program).rings, ring);
  if (isUsed && before.microBatch == calls[call].microBatch)
    return false; // what is received might be overwritten
  const uint32_t program = calls[call].program;
  bool isShared = false;
  for (const PlannedCall &other : calls)
    isShared = isShared || (other.program != program &&
                            contains(use.program(other.program).rings, ring));
  if (!isShared)
    return true;
  const Intervals held = heldByCalls(ring);
  auto heldAt = [&](int at) {
    return std::count_if(held.begin(), held.end(), [&](const Interval &one) {
      return one.first <= at && at <= one.last;
    });
  };
  int64_t most = 0;
  for (const Interval &interval : held) {
    if (interval.microBatch == calls[call].microBatch &&
        interval.first < int(call))
      return true; // it has its slot already
    most = std::max<int64_t>(most, heldAt(interval.first));
  }
  return heldAt(int(call) - 1) < most;
}

/// All receives of a call go ahead, or none: lines keep their order.
bool RoleDraft::goesAhead(size_t call) const {
  for (uint32_t message : messagesOf(calls[call], false))
    if (!hasRoom(call, role.messages(int(message)).ring()))
      return false;
  return true;
}

void RoleDraft::addMoves(const PlannedCall &call, bool sends) {
  for (uint32_t message : messagesOf(call, sends)) {
    plan::Action *action = order.add_actions();
    plan::Move *move =
        sends ? action->mutable_send() : action->mutable_receive();
    move->set_message(message);
    move->set_micro_batch(call.microBatch);
  }
}

void RoleDraft::addCall(const PlannedCall &call) {
  if (use.program(call.program).hasInputs) {
    plan::Feed *feed = order.add_actions()->mutable_feed();
    feed->set_program(call.program);
    feed->set_micro_batch(call.microBatch);
  }
  plan::Call *action = order.add_actions()->mutable_call();
  action->set_program(call.program);
  action->set_micro_batch(call.microBatch);
}

std::vector<uint32_t> RoleDraft::ringsOf(const plan::Action &action) const {
  if (const plan::Move *move = moveOf(action))
    return {role.messages(int(move->message())).ring()};
  return action.has_call() ? use.program(action.call().program()).rings
                           : use.program(action.feed().program()).inputRings;
}

void RoleDraft::findIntervals() {
  const size_t rings = size_t(role.rings_size());
  std::map<std::pair<uint32_t, uint32_t>, size_t> known;
  intervals.resize(rings);
  needs.resize(rings);
  for (int i = 0; i < order.actions_size(); ++i) {
    const uint32_t microBatch = microBatchOf(order.actions(i));
    for (uint32_t ring : ringsOf(order.actions(i))) {
      auto [at, isNew] =
          known.emplace(std::pair(ring, microBatch), intervals[ring].size());
      if (isNew)
        intervals[ring].push_back({microBatch, i, i});
      intervals[ring][at->second].last = i;
    }
  }
  for (uint32_t ring = 0; ring < rings; ++ring) {
    RingNeed &need = needs[ring];
    need.most = uint32_t(intervals[ring].size());
    need.isSent = need.most > 0;
    std::vector<std::pair<int, int>> events; // +1 and -1
    for (const Interval &interval : intervals[ring]) {
      need.isSent = need.isSent && order.actions(interval.last).has_send();
      events.push_back({interval.first, 1});
      events.push_back({interval.last + 1, -1});
    }
    std::sort(events.begin(), events.end());
    int live = 0;
    for (auto [at, change] : events)
      need.fewest = std::max(need.fewest, uint32_t(live += change));
    need.slots = need.isSent ? need.most : need.fewest;
  }
}

std::vector<uint32_t> RoleDraft::colour(uint32_t ring) const {
  const RingNeed &need = needs[ring];
  std::deque<uint32_t> free;
  for (uint32_t slot = 0; slot < need.slots; ++slot)
    free.push_back(slot);
  std::map<int, uint32_t> taken; // by their last action
  std::vector<uint32_t> slots;
  for (const Interval &interval : intervals[ring]) {
    while (!taken.empty() && taken.begin()->first < interval.first) {
      const uint32_t slot = taken.begin()->second;
      taken.erase(taken.begin());
      // The lowest slot comes first, but of rings that are sent the one whose
      // message has had the most time to leave.
      free.insert(need.isSent
                      ? free.end()
                      : std::lower_bound(free.begin(), free.end(), slot),
                  slot);
    }
    slots.push_back(free.front());
    taken.emplace(interval.last, free.front());
    free.pop_front();
  }
  return slots;
}

plan::Order RoleDraft::finish() const {
  std::vector<std::map<uint32_t, uint32_t>> slotOf(intervals.size());
  for (uint32_t ring = 0; ring < intervals.size(); ++ring) {
    const std::vector<uint32_t> slots = colour(ring);
    for (size_t i = 0; i < slots.size(); ++i)
      slotOf[ring][intervals[ring][i].microBatch] = slots[i];
  }
  plan::Order finished = order;
  for (plan::Action &action : *finished.mutable_actions()) {
    const uint32_t microBatch = microBatchOf(action);
    const std::vector<uint32_t> rings = ringsOf(action);
    auto slotIn = [&](uint32_t ring) {
      return contains(rings, ring) ? slotOf[ring].at(microBatch) : 0;
    };
    if (action.has_send())
      action.mutable_send()->set_slot(slotIn(rings.front()));
    if (action.has_receive())
      action.mutable_receive()->set_slot(slotIn(rings.front()));
    for (uint32_t ring = 0; ring < intervals.size(); ++ring) {
      if (action.has_call())
        action.mutable_call()->add_slots(slotIn(ring));
      if (action.has_feed() && !rings.empty())
        action.mutable_feed()->add_slots(slotIn(ring));
    }
  }
  return finished;
}

} // namespace zc
