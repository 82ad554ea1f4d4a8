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
  const std::vector<CallUse> callUse = findCallUse();
  for (size_t i = 1; ahead && i < calls.size(); ++i)
    isAhead[i] = goesAhead(i, callUse);
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
  const ProgramUse &program = use.program(call.program);
  std::vector<uint32_t> messages;
  for (int i = 0; i < role.messages_size(); ++i)
    if (const plan::Message &message = role.messages(i);
        message.sends() == sends && isOf(message, phase) &&
        isEndOf(program, message) &&
        use.moves(phase, uint32_t(i), call.microBatch))
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

/// From the first call that needs a ring to the last.
std::vector<RoleDraft::CallUse> RoleDraft::findCallUse() const {
  constexpr uint32_t kNone = UINT32_MAX;
  const size_t rings = size_t(role.rings_size());
  std::vector<CallUse> ofRings(rings);
  std::vector<uint32_t> users(rings, kNone);
  std::vector<std::map<uint32_t, uint32_t>> lastCalls(rings);
  auto add = [&](uint32_t ring, uint32_t call) {
    const uint32_t microBatch = calls[call].microBatch;
    std::vector<uint32_t> &firstCalls = ofRings[ring].firstCalls;
    if (firstCalls.size() <= microBatch)
      firstCalls.resize(microBatch + 1, kNone);
    firstCalls[microBatch] = std::min(firstCalls[microBatch], call);
    lastCalls[ring][microBatch] = call;
  };
  for (uint32_t call = 0; call < calls.size(); ++call) {
    const uint32_t program = calls[call].program;
    for (uint32_t ring : use.program(program).rings) {
      add(ring, call);
      ofRings[ring].isShared |= users[ring] != kNone && users[ring] != program;
      users[ring] = program;
    }
    for (uint32_t message : messagesOf(calls[call], false))
      add(role.messages(int(message)).ring(), call);
  }
  for (size_t ring = 0; ring < rings; ++ring) {
    CallUse &callUse = ofRings[ring];
    callUse.held.resize(calls.size());
    for (auto [microBatch, last] : lastCalls[ring])
      for (uint32_t i = callUse.firstCalls[microBatch]; i <= last; ++i)
        callUse.mostHeld = std::max(callUse.mostHeld, ++callUse.held[i]);
  }
  return ofRings;
}

/// Whether the ring has a slot for the call's micro-batch at the call before.
bool RoleDraft::hasRoom(size_t call, uint32_t ring,
                        const CallUse &callUse) const {
  const PlannedCall &before = calls[call - 1];
  if (before.microBatch == calls[call].microBatch &&
      contains(use.program(before.program).rings, ring))
    return false; // it might overwrite what is received
  return !callUse.isShared ||
         callUse.firstCalls[calls[call].microBatch] < call ||
         callUse.held[call - 1] < callUse.mostHeld;
}

/// All receives of a call go ahead, or none: lines keep their order.
bool RoleDraft::goesAhead(size_t call,
                          const std::vector<CallUse> &ofRings) const {
  for (uint32_t message : messagesOf(calls[call], false)) {
    const uint32_t ring = role.messages(int(message)).ring();
    if (!hasRoom(call, ring, ofRings[ring]))
      return false;
  }
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
  if (takesTurns) {
    std::vector<uint32_t> slots;
    for (const Interval &interval : intervals[ring])
      slots.push_back(interval.microBatch % need.slots);
    return slots;
  }
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
