#include "runtime/Exec/Orders.h"
#include "runtime/Plan/Mesh.h"
#include "runtime/Plan/Order/RunOfSteps.h"
#include "runtime/Plan/Order/VerifyOrders.h"

#include <algorithm>
#include <functional>
#include <set>

namespace zc {

namespace {

std::vector<uint32_t> ringsOfBuffers(const plan::Program &program,
                                     const std::function<bool(int)> &isMeant) {
  std::set<uint32_t> rings;
  for (int i = 0; i < program.buffers_size(); ++i)
    if (program.buffers(i).space() == plan::FLIGHT && isMeant(i))
      rings.insert(program.buffers(i).ring());
  return {rings.begin(), rings.end()};
}

} // namespace

Orders ordersOf(const Artifact &artifact) {
  const plan::Role &role = artifact.role();
  const plan::Manifest &manifest = artifact.manifest();
  Orders orders{role.train(), role.train_late(), role.eval(),
                manifest.freeze_step()};
  orders.prologue = role.train_prologue();
  orders.microBatches = microBatchesOf(manifest);
  orders.evaluated = std::max(1u, evaluatedAtOnce(manifest));
  orders.stepsAhead = stepsAhead(manifest);
  orders.turns = turnsOf(role, orders.microBatches);
  return orders;
}

std::vector<const plan::Program *> programsOf(const plan::Role &role,
                                              const plan::Order &order) {
  std::vector<const plan::Program *> programs;
  for (const plan::Action &action : order.actions()) {
    if (!action.has_call())
      continue;
    const plan::Program *program = &role.programs(int(action.call().program()));
    if (std::find(programs.begin(), programs.end(), program) == programs.end())
      programs.push_back(program);
  }
  return programs;
}

std::vector<std::string> programNamesOf(const plan::Role &role,
                                        const plan::Order &order) {
  std::vector<std::string> names;
  for (const plan::Program *program : programsOf(role, order))
    names.push_back(program->name());
  return names;
}

const plan::Program *lastProgramOf(const plan::Role &role,
                                   const plan::Order &order) {
  const plan::Program *last = nullptr;
  for (const plan::Action &action : order.actions())
    if (action.has_call())
      last = &role.programs(int(action.call().program()));
  return last;
}

std::vector<EvaluationProgram> evaluationOf(const Artifact &artifact) {
  std::vector<EvaluationProgram> all;
  // A server and its workers evaluate alike, and each knows its own program.
  if (hasParameterServer(artifact.manifest())) {
    for (const plan::Program *program :
         programsOf(artifact.role(), ordersOf(artifact).eval))
      all.push_back({0, program});
    return all;
  }
  for (int role = 0; role < artifact.manifest().roles_size(); ++role) {
    Artifact view = artifact.forRole(role);
    for (const plan::Program *program :
         programsOf(view.role(), ordersOf(view).eval))
      all.push_back({role, program});
  }
  return all;
}

uint32_t microBatchesOf(const plan::Order &order) {
  uint32_t last = 0;
  for (const plan::Action &action : order.actions())
    for (uint32_t each :
         {action.feed().micro_batch(), action.call().micro_batch(),
          action.send().micro_batch(), action.receive().micro_batch()})
      last = std::max(last, each);
  return last + 1;
}

std::vector<uint32_t> ringsOf(const plan::Program &program) {
  return ringsOfBuffers(program, [](int) { return true; });
}

std::vector<uint32_t> ringsOfInputs(const plan::Program &program) {
  std::set<int> inputs;
  for (const plan::Input &input : program.inputs())
    inputs.insert(int(input.buffer()));
  return ringsOfBuffers(program,
                        [&](int buffer) { return inputs.count(buffer) > 0; });
}

Slots onlyOf(const std::vector<uint32_t> &rings, const Slots &slots) {
  Slots result;
  for (uint32_t ring : rings) {
    result.resize(ring + 1);
    result[ring] = ring < slots.size() ? slots[ring] : 0;
  }
  return result;
}

Slots slotsOf(const plan::Program &program,
              const google::protobuf::RepeatedField<uint32_t> &slots) {
  return onlyOf(ringsOf(program), {slots.begin(), slots.end()});
}

/// The slots of a call in all steps.
static void addTurns(const plan::Role &role, const Orders &orders,
                     const plan::Program &program, const plan::Action &action,
                     std::set<Slots> &found) {
  for (uint32_t step = 0; step < orders.turns; ++step) {
    plan::Call call = action.call();
    for (uint32_t ring : ringsOf(program))
      call.set_slots(int(ring),
                     slotOfStep(role.rings(int(ring)), call.slots(int(ring)),
                                int64_t(step) * orders.microBatches));
    found.insert(slotsOf(program, call.slots()));
  }
}

std::vector<Slots> slotsOfCalls(const plan::Role &role, const Orders &orders,
                                const plan::Program &program) {
  if (ringsOf(program).empty())
    return {{}};
  std::set<Slots> found;
  for (const plan::Order *order :
       {&orders.prologue, &orders.train, &orders.late, &orders.eval})
    for (const plan::Action &action : order->actions())
      if (action.has_call() &&
          &role.programs(int(action.call().program())) == &program)
        addTurns(role, orders, program, action, found);
  return {found.begin(), found.end()};
}

} // namespace zc
