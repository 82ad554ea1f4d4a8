#include "runtime/Plan/Order/RunOfSteps.h"
#include "runtime/Plan/Order/VerifyOrders.h"

#include <algorithm>
#include <numeric>

namespace zc {
namespace {

/// Adds `by` to the number of an action's micro-batch.
void shift(plan::Action &action, int64_t by) {
  const uint32_t number = uint32_t(int64_t(microBatchOf(action)) + by);
  if (action.has_call())
    action.mutable_call()->set_micro_batch(number);
  if (action.has_feed())
    action.mutable_feed()->set_micro_batch(number);
  if (action.has_send())
    action.mutable_send()->set_micro_batch(number);
  if (action.has_receive())
    action.mutable_receive()->set_micro_batch(number);
}

void turnSlots(const plan::Role &role, const RoleUse &use, plan::Action &action,
               int64_t first) {
  auto turnAll = [&](google::protobuf::RepeatedField<uint32_t> &slots,
                     const std::vector<uint32_t> &used) {
    for (uint32_t ring : used)
      slots.Set(int(ring),
                slotOfStep(role.rings(int(ring)), slots.Get(int(ring)), first));
  };
  auto turnMove = [&](plan::Move &move) {
    const uint32_t ring = role.messages(int(move.message())).ring();
    move.set_slot(slotOfStep(role.rings(int(ring)), move.slot(), first));
  };
  if (action.has_call())
    turnAll(*action.mutable_call()->mutable_slots(),
            use.program(action.call().program()).rings);
  if (action.has_feed())
    turnAll(*action.mutable_feed()->mutable_slots(),
            use.program(action.feed().program()).inputRings);
  if (action.has_send())
    turnMove(*action.mutable_send());
  if (action.has_receive())
    turnMove(*action.mutable_receive());
}

uint32_t lastMicroBatch(const plan::Order &order) {
  uint32_t last = 0;
  for (const plan::Action &action : order.actions())
    last = std::max(last, microBatchOf(action));
  return last;
}

} // namespace

uint32_t slotOfStep(const plan::Ring &ring, uint32_t slot, int64_t first) {
  if (!ring.turns() || ring.slots() == 0)
    return slot;
  const int64_t slots = ring.slots();
  return uint32_t((((slot + first) % slots) + slots) % slots);
}

bool overlapsSteps(const plan::Manifest &manifest) {
  return std::any_of(
      manifest.roles().begin(), manifest.roles().end(),
      [](const plan::Role &role) {
        return role.train_prologue().actions_size() > 0 ||
               std::any_of(role.rings().begin(), role.rings().end(),
                           [](const plan::Ring &ring) { return ring.turns(); });
      });
}

uint32_t stepsAhead(const plan::Manifest &manifest) {
  if (!overlapsSteps(manifest))
    return 0;
  uint32_t last = 0;
  for (const plan::Role &role : manifest.roles())
    last = std::max({last, lastMicroBatch(role.train()),
                     lastMicroBatch(role.train_prologue())});
  return last / microBatchesOf(manifest);
}

uint32_t turnsOf(const plan::Role &role, uint32_t microBatches) {
  uint64_t turns = 1;
  for (const plan::Ring &ring : role.rings())
    if (ring.turns() && ring.slots() > 0)
      turns = std::lcm(turns, uint64_t(ring.slots()) /
                                  std::gcd(ring.slots(), microBatches));
  return uint32_t(std::min<uint64_t>(turns, UINT32_MAX));
}

Status verifyRunIndices(const plan::Manifest &manifest,
                        const std::vector<RoleUse> &uses) {
  for (int i = 0; i < manifest.roles_size(); ++i) {
    const plan::Role &role = manifest.roles(i);
    auto isSound = [&](const plan::Action &action) {
      if (const plan::Move *move = moveOf(action))
        return move->message() < uint32_t(role.messages_size());
      if (!action.has_call() && !action.has_feed())
        return false;
      const uint32_t program =
          action.has_call() ? action.call().program() : action.feed().program();
      if (program >= uint32_t(role.programs_size()))
        return false;
      const auto &use = uses[size_t(i)].program(program);
      const auto &rings = action.has_call() ? use.rings : use.inputRings;
      const int slots = action.has_call() ? action.call().slots_size()
                                          : action.feed().slots_size();
      return rings.empty() || int(rings.back()) < slots;
    };
    for (const plan::Order *order : {&role.train_prologue(), &role.train()})
      for (int k = 0; k < order->actions_size(); ++k)
        if (!isSound(order->actions(k)))
          return makeError(StatusCode::Corrupt, "role ", i, ", action ", k,
                           " of ",
                           order == &role.train() ? "a step" : "the prologue",
                           ": there is no such program, "
                           "message or slot");
  }
  return Status();
}

plan::Order orderOfStep(const plan::Role &role, const RoleUse &use,
                        uint32_t microBatches, const StepPlace &place) {
  plan::Order order;
  auto add = [&](const plan::Order &part) {
    for (const plan::Action &action : part.actions()) {
      if (microBatchOf(action) / microBatches >= place.left)
        continue;
      plan::Action &added = *order.add_actions();
      added = action;
      turnSlots(role, use, added, place.step * microBatches);
    }
  };
  if (place.isFirst)
    add(role.train_prologue());
  add(role.train());
  return order;
}

Result<plan::Manifest> unroll(const plan::Manifest &manifest, uint32_t steps) {
  const uint32_t microBatches = microBatchesOf(manifest);
  ZC_ASSIGN_OR_RETURN(const std::vector<RoleUse> uses, useOfRoles(manifest));
  plan::Manifest run = manifest;
  run.set_accumulate(int64_t(steps) * microBatches);
  for (int i = 0; i < run.roles_size(); ++i) {
    plan::Role &role = *run.mutable_roles(i);
    role.clear_train();
    role.clear_train_prologue();
    for (uint32_t step = 0; step < steps; ++step) {
      plan::Order order =
          orderOfStep(manifest.roles(i), uses[size_t(i)], microBatches,
                      {step, steps - step, step == 0});
      for (plan::Action &action : *order.mutable_actions()) {
        shift(action, int64_t(step) * microBatches);
        role.mutable_train()->add_actions()->Swap(&action);
      }
    }
    for (plan::Ring &ring : *role.mutable_rings())
      ring.set_turns(false);
  }
  return run;
}

namespace {

/// The actions up to each call that ends a step.
std::vector<plan::Order> cutSteps(const plan::Order &order,
                                  const RoleUse &use) {
  std::vector<plan::Order> steps(1);
  for (const plan::Action &action : order.actions()) {
    *steps.back().add_actions() = action;
    if (action.has_call() &&
        (use.program(action.call().program()).parts & kApplyPart))
      steps.emplace_back();
  }
  steps.pop_back();
  return steps;
}

/// Numbers micro-batches from the step's first on, and slots as in step 0.
void rebase(const plan::Role &role, const RoleUse &use, plan::Order &order,
            int64_t first) {
  for (plan::Action &action : *order.mutable_actions()) {
    turnSlots(role, use, action, -first);
    shift(action, -first);
  }
}

bool areEqual(const plan::Action &a, const plan::Action &b) {
  return a.SerializeAsString() == b.SerializeAsString();
}

} // namespace

bool foldRole(plan::Role &role, const RoleUse &use, const plan::Order &unrolled,
              uint32_t microBatches) {
  std::vector<plan::Order> steps = cutSteps(unrolled, use);
  if (steps.size() < 3)
    return false;
  for (size_t i = 0; i < 3; ++i)
    rebase(role, use, steps[i], int64_t(i) * microBatches);
  const plan::Order &first = steps[0], &period = steps[1];
  const int ahead = first.actions_size() - period.actions_size();
  if (ahead < 0 || period.SerializeAsString() != steps[2].SerializeAsString())
    return false;
  for (int i = 0; i < period.actions_size(); ++i)
    if (!areEqual(first.actions(ahead + i), period.actions(i)))
      return false;
  role.clear_train_prologue();
  for (int i = 0; i < ahead; ++i)
    *role.mutable_train_prologue()->add_actions() = first.actions(i);
  *role.mutable_train() = period;
  return true;
}

} // namespace zc
