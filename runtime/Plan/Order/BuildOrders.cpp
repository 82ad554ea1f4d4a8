#include "runtime/Plan/Order/BuildOrders.h"
#include "runtime/Plan/Mesh.h"
#include "runtime/Plan/Order/EventGraph.h"
#include "runtime/Plan/Order/RoleDraft.h"
#include "runtime/Plan/Order/RunOfSteps.h"
#include "runtime/Plan/Order/Schedules.h"
#include "runtime/Plan/Order/VerifyOrders.h"
#include "runtime/Plan/Order/Versions.h"
#include "runtime/Plan/ProgramNames.h"
#include "runtime/Plan/Types.h"

#include <algorithm>
#include <map>
#include <set>

namespace zc {
namespace {

template <typename... Parts> Status bad(const Parts &...parts) {
  return makeError(StatusCode::InvalidArgument, parts...);
}

bool receivesGradients(const plan::Role &role) {
  return std::any_of(role.messages().begin(), role.messages().end(),
                     [](const plan::Message &message) {
                       return message.gradient() && !message.sends();
                     });
}

/// Whether a micro-batch's works follow one another without others between.
bool isContiguous(const std::vector<StageWork> &works) {
  for (size_t i = 1; i < works.size(); ++i)
    if (works[i].work != Work::Forward &&
        works[i].microBatch != works[i - 1].microBatch)
      return false;
  return true;
}

/// Makes calls of one role out of its part of a schedule.
class CallPlan {
public:
  CallPlan(const plan::Role &role, const RoleUse &use, bool isAlone)
      : role(role), use(use), isAlone(isAlone) {}

  Result<std::vector<PlannedCall>> train(const PipelineSchedule &schedule,
                                         const std::vector<StageWork> &works);

private:
  Status add(uint32_t parts, const char *name, uint32_t microBatch,
             uint32_t chunk = 0);
  Status addWork(const PipelineSchedule &schedule, const StageWork &work);

  void beginGroup(const StageWork &work, uint32_t chunk);
  Status gatherFor(uint32_t program, uint32_t microBatch);

  const plan::Role &role;
  const RoleUse &use;
  const bool isAlone;
  std::vector<PlannedCall> calls;
  std::map<uint32_t, uint32_t> forwards; // so far, by the role's stages
  std::set<uint32_t> whole;              // of the role's gathered states
};

Status CallPlan::add(uint32_t parts, const char *name, uint32_t microBatch,
                     uint32_t chunk) {
  const int program = use.find(parts, chunk);
  if (program < 0)
    return bad("there is no program '", name, "'",
               use.chunks() > 1 ? strCat(" of its stage ", chunk) : "");
  ZC_RETURN_IF_ERROR(gatherFor(uint32_t(program), microBatch));
  calls.push_back({uint32_t(program), microBatch});
  return Status();
}

/// Calls "gather" before a program for the units that it reads and that are not
/// in memory any more.
Status CallPlan::gatherFor(uint32_t program, uint32_t microBatch) {
  for (uint32_t state : use.program(program).gathered) {
    for (uint32_t i = 0; !whole.count(state); ++i) {
      if (i == uint32_t(role.programs_size()))
        return bad("there is no program 'gather' of '",
                   role.states(int(state)).name(), "'");
      const ProgramUse &each = use.program(i);
      if (each.parts != kGatherPart ||
          !std::count(each.gathered.begin(), each.gathered.end(), state))
        continue;
      zc::gather(role, each, whole);
      calls.push_back({i, microBatch});
    }
  }
  return Status();
}

/// The first forward of a group of micro-batches reads what is gathered anew.
void CallPlan::beginGroup(const StageWork &work, uint32_t chunk) {
  const int program = use.find(kGatherPart, chunk);
  if (work.work == Work::Forward && program >= 0 &&
      forwards[chunk]++ % std::max(1u, role.reshard_every()) == 0)
    for (uint32_t state : use.program(uint32_t(program)).gathered)
      whole.erase(state);
}

/// A stage that sends no gradients on has nothing to split off its backward.
Status CallPlan::addWork(const PipelineSchedule &schedule,
                         const StageWork &work) {
  const uint32_t chunk = schedule.chunkOf(work.stage);
  const bool splits = use.find(kWeightsPart, chunk) >= 0;
  const uint32_t backward =
      splits ? kBackwardPart : kBackwardPart | kWeightsPart;
  if (work.work == Work::Forward)
    return add(kForwardPart, programs::kForward, work.microBatch, chunk);
  if (work.work == Work::Backward)
    ZC_RETURN_IF_ERROR(
        add(backward, programs::kBackward, work.microBatch, chunk));
  if (splits && (work.work == Work::Weights || !schedule.splitsWeights))
    return add(kWeightsPart, programs::kWeights, work.microBatch, chunk);
  return Status();
}

Result<std::vector<PlannedCall>>
CallPlan::train(const PipelineSchedule &schedule,
                const std::vector<StageWork> &works) {
  calls.clear();
  if (use.find(kStepParts) >= 0) {
    if (!isAlone || schedule.microBatches != 1)
      return bad("its program '", programs::kStep,
                 "' is for one role and one micro-batch");
    ZC_RETURN_IF_ERROR(add(kStepParts, programs::kStep, 0));
    return calls;
  }
  const bool isFused = use.find(kMicroParts) >= 0 && !receivesGradients(role) &&
                       (isAlone || isContiguous(works));
  forwards.clear();
  whole.clear();
  for (const StageWork &work : works) {
    beginGroup(work, schedule.chunkOf(work.stage));
    if (!isFused)
      ZC_RETURN_IF_ERROR(addWork(schedule, work));
    else if (work.work == Work::Forward)
      ZC_RETURN_IF_ERROR(add(kMicroParts, programs::kMicro, work.microBatch));
  }
  ZC_RETURN_IF_ERROR(add(kApplyPart, programs::kApply, 0));
  return calls;
}

/// All roles' orders of one phase.
class PhaseOrders {
public:
  using Calls = std::vector<std::vector<PlannedCall>>; // by role

  PhaseOrders(plan::Manifest &manifest, const std::vector<RoleUse> &uses,
              Phase phase, bool takesTurns = false)
      : manifest(manifest), uses(uses), phase(phase), takesTurns(takesTurns) {}

  /// Fills the orders, and raises the rings' slots to what they need. `ahead`:
  /// receives may begin one call ahead.
  Status build(const Calls &calls, bool ahead = true);

  const std::vector<RingNeed> &rings(int role) const {
    return drafts[size_t(role)].rings();
  }

private:
  std::optional<uint64_t> draft(const Calls &calls, bool ahead);
  std::optional<uint64_t> makespan() const {
    return EventGraph(manifest, uses, phase).makespan();
  }
  void write(int role) {
    *mutableOrderOf(*manifest.mutable_roles(role), phase) =
        drafts[size_t(role)].finish();
  }
  void shrink(int role, uint32_t ring, uint64_t shortest);
  void alignTurns(int role);

  plan::Manifest &manifest;
  const std::vector<RoleUse> &uses;
  const Phase phase;
  const bool takesTurns;
  std::vector<RoleDraft> drafts;
};

std::optional<uint64_t> PhaseOrders::draft(const Calls &calls, bool ahead) {
  drafts.clear();
  for (int i = 0; i < manifest.roles_size(); ++i)
    drafts.emplace_back(manifest.roles(i), uses[size_t(i)], phase,
                        calls[size_t(i)], ahead);
  for (int i = 0; i < manifest.roles_size(); ++i) {
    if (takesTurns)
      drafts[size_t(i)].takeTurns();
    write(i);
  }
  return makespan();
}

/// The fewest slots with which nothing takes longer.
void PhaseOrders::shrink(int role, uint32_t ring, uint64_t shortest) {
  RoleDraft &draft = drafts[size_t(role)];
  auto isEnough = [&](uint32_t slots) {
    draft.setSlots(ring, slots);
    write(role);
    return makespan() == shortest;
  };
  uint32_t enough = draft.rings()[ring].most;
  uint32_t tooFew = draft.rings()[ring].fewest - 1;
  // Few are enough almost always: double before halving.
  for (uint32_t step = 1; tooFew + step < enough; step *= 2) {
    const uint32_t slots = tooFew + step;
    (isEnough(slots) ? enough : tooFew) = slots;
    if (enough == slots)
      break;
  }
  while (tooFew + 1 < enough) {
    const uint32_t slots = tooFew + (enough - tooFew) / 2;
    (isEnough(slots) ? enough : tooFew) = slots;
  }
  draft.setSlots(ring, enough);
  write(role);
}

/// Where the slots of the largest ring come round, so do all others': few
/// combinations of slots are in use.
void PhaseOrders::alignTurns(int role) {
  uint32_t most = 1;
  for (const RingNeed &need : rings(role))
    most = std::max(most, need.slots);
  for (uint32_t ring = 0; ring < rings(role).size(); ++ring) {
    uint32_t slots = rings(role)[ring].slots;
    while (slots > 0 && most % slots != 0)
      ++slots;
    drafts[size_t(role)].setSlots(ring, slots);
  }
  write(role);
}

Status PhaseOrders::build(const Calls &calls, bool ahead) {
  std::optional<uint64_t> shortest = draft(calls, ahead);
  if (!shortest && ahead)
    shortest = draft(calls, false);
  if (!shortest)
    return bad("the roles would wait for each other: ",
               EventGraph(manifest, uses, phase).printCircle());
  for (int i = 0; i < manifest.roles_size(); ++i)
    for (uint32_t ring = 0; ring < rings(i).size(); ++ring)
      if (rings(i)[ring].isSent)
        shrink(i, ring, *shortest);
  for (int i = 0; takesTurns && i < manifest.roles_size(); ++i)
    alignTurns(i);
  for (int i = 0; i < manifest.roles_size(); ++i)
    for (uint32_t ring = 0; ring < rings(i).size(); ++ring) {
      plan::Ring *slots = manifest.mutable_roles(i)->mutable_rings(int(ring));
      slots->set_slots(std::max(slots->slots(), rings(i)[ring].slots));
    }
  return Status();
}

/// The bytes of the rings in one of the two memories. Rings of both phases come
/// first; behind them, those of one lie where those of the other do.
uint64_t layOut(plan::Role &role, const std::vector<uint32_t> &phases,
                bool offloaded) {
  uint64_t ends[4] =
      {}; // by the phases of a ring: bit 0 training, 1 evaluation
  for (uint32_t which : {3u, 1u, 2u}) {
    uint64_t end = which == 3 ? 0 : ends[3];
    for (int i = 0; i < role.rings_size(); ++i) {
      plan::Ring *ring = role.mutable_rings(i);
      if (phases[size_t(i)] != which || ring->offloaded() != offloaded)
        continue;
      ring->set_offset(end);
      end += ring->slot_bytes() * ring->slots();
    }
    ends[which] = end;
  }
  return std::max(ends[1], ends[2]);
}

/// The late order differs in its last call alone.
void addLateOrder(plan::Role &role, const RoleUse &use) {
  const int apply = use.find(kApplyPart), late = use.find(kLateApplyPart);
  if (apply < 0 || late < 0)
    return;
  *role.mutable_train_late() = role.train();
  for (plan::Action &action : *role.mutable_train_late()->mutable_actions())
    if (action.has_call() && action.call().program() == uint32_t(apply))
      action.mutable_call()->set_program(uint32_t(late));
}

void clear(plan::Manifest &manifest) {
  for (plan::Role &role : *manifest.mutable_roles()) {
    role.clear_train();
    role.clear_train_late();
    role.clear_train_prologue();
    role.clear_eval();
    for (plan::Ring &ring : *role.mutable_rings()) {
      ring.set_slot_bytes(alignBuffer(ring.slot_bytes()));
      ring.set_slots(0);
      ring.set_turns(false);
      ring.set_offset(0);
    }
  }
}

/// Moves need a ring of their role.
Status checkMessages(const plan::Manifest &manifest) {
  for (int i = 0; i < manifest.roles_size(); ++i)
    for (const plan::Message &message : manifest.roles(i).messages())
      if (message.ring() >= uint32_t(manifest.roles(i).rings_size()))
        return bad("role ", i, ", message ", message.id(), ": it is in ring ",
                   message.ring(), " of ", manifest.roles(i).rings_size());
  return Status();
}

/// How many stages every role has; 1 where it is not said.
uint32_t chunksOf(const std::vector<RoleUse> &uses) {
  uint32_t chunks = 1;
  for (const RoleUse &use : uses)
    chunks = std::max(chunks, use.chunks());
  return chunks;
}

/// Whether the programs are there that a schedule calls.
Status checkFits(const PipelineSchedule &schedule,
                 const std::vector<RoleUse> &uses,
                 const OrderOptions &options) {
  if (schedule.roles.size() != uses.size() ||
      schedule.microBatches != options.microBatches)
    return bad("schedule ", options.schedule, " is of ", schedule.roles.size(),
               " roles and ", schedule.microBatches, " micro-batches, not of ",
               uses.size(), " and ", options.microBatches);
  for (uint32_t i = 0; i < uses.size(); ++i)
    if (schedule.stagesOf(i).size() != uses[i].chunks())
      return bad("role ", i, ", schedule ", options.schedule, ": it needs ",
                 schedule.stagesOf(i).size(), " stages there, but there are ",
                 uses[i].chunks());
  return Status();
}

/// Each micro-batch goes through all stages before the next one.
Result<std::vector<PlannedCall>> planEvaluation(const RoleUse &use,
                                                uint32_t evaluated) {
  std::vector<PlannedCall> calls;
  for (uint32_t k = 0; k < use.turn(Phase::Eval).count(evaluated); ++k)
    for (uint32_t chunk = 0; chunk < use.chunks(); ++chunk) {
      const int program = use.find(kEvalPart, chunk);
      if (program < 0)
        return bad("there is no program 'eval' of its stage ", chunk);
      calls.push_back({uint32_t(program), k});
    }
  return calls;
}

/// A parameter server and its workers: each role has the whole model.
Result<PhaseOrders::Calls> planServer(const plan::Manifest &manifest,
                                      const std::vector<RoleUse> &uses,
                                      const OrderOptions &options) {
  ZC_ASSIGN_OR_RETURN(
      const PipelineSchedule schedule,
      makeSchedule({options.schedule, 1, options.microBatches, 1}));
  PhaseOrders::Calls calls;
  for (size_t i = 0; i < uses.size(); ++i) {
    CallPlan plan(manifest.roles(int(i)), uses[i], /*isAlone=*/true);
    ZC_ASSIGN_OR_RETURN(std::vector<PlannedCall> one,
                        plan.train(schedule, schedule.roles[0]));
    calls.push_back(std::move(one));
  }
  return calls;
}

Result<PhaseOrders::Calls> planTraining(const plan::Manifest &manifest,
                                        const std::vector<RoleUse> &uses,
                                        const OrderOptions &options) {
  const uint32_t roles = uint32_t(manifest.roles_size());
  if (microBatchesOf(manifest) != options.microBatches)
    return bad("a schedule of ", options.microBatches,
               " micro-batches for a step of ", microBatchesOf(manifest));
  if (hasParameterServer(manifest))
    return planServer(manifest, uses, options);
  PipelineSchedule schedule;
  if (options.given) {
    schedule = *options.given;
  } else {
    ZC_ASSIGN_OR_RETURN(schedule,
                        makeSchedule({options.schedule, roles,
                                      options.microBatches, chunksOf(uses)}));
  }
  ZC_RETURN_IF_ERROR(checkFits(schedule, uses, options));
  PhaseOrders::Calls calls;
  for (uint32_t i = 0; i < roles; ++i) {
    CallPlan plan(manifest.roles(int(i)), uses[i], roles == 1);
    Result<std::vector<PlannedCall>> one =
        plan.train(schedule, schedule.roles[i]);
    if (!one.ok())
      return one.status().withContext(
          strCat("role ", i, ", schedule ", options.schedule));
    calls.push_back(std::move(*one));
  }
  return calls;
}

/// Ends each step in a run of them.
void endSteps(std::vector<PlannedCall> &calls, const RoleUse &use,
              uint32_t microBatches) {
  std::vector<PlannedCall> all;
  const PlannedCall end = calls.back();
  calls.pop_back();
  for (const PlannedCall &call : calls) {
    all.push_back(call);
    if ((use.program(call.program).parts & kWeightsPart) &&
        (call.microBatch + 1) % microBatches == 0)
      all.push_back({end.program, call.microBatch + 1 - microBatches});
  }
  calls = std::move(all);
}

/// Takes a run of steps over, if each is like the others.
bool foldAll(const plan::Manifest &run, const std::vector<RoleUse> &uses,
             uint32_t steps, plan::Manifest &manifest) {
  for (int i = 0; i < manifest.roles_size(); ++i) {
    plan::Role &role = *manifest.mutable_roles(i);
    for (int ring = 0; ring < role.rings_size(); ++ring) {
      const uint32_t slots = run.roles(i).rings(ring).slots();
      role.mutable_rings(ring)->set_slots(slots);
      role.mutable_rings(ring)->set_turns(slots > 0);
    }
    if (!foldRole(role, uses[size_t(i)], run.roles(i).train(),
                  microBatchesOf(manifest)))
      return false;
  }
  Result<plan::Manifest> again = unroll(manifest, steps);
  return again.ok() &&
         EventGraph(*again, uses, Phase::Train).printCircle().empty();
}

/// Without flush, steps of one role follow one another as micro-batches do.
Status buildWithoutFlush(plan::Manifest &manifest,
                         const std::vector<RoleUse> &uses) {
  const uint32_t roles = uint32_t(manifest.roles_size());
  const uint32_t microBatches = microBatchesOf(manifest);
  const uint32_t steps = (roles + microBatches - 2) / microBatches + 4;
  OrderOptions options;
  options.microBatches = steps * microBatches;
  for (bool ahead : {true, false}) {
    plan::Manifest run = manifest;
    run.set_accumulate(options.microBatches);
    ZC_ASSIGN_OR_RETURN(PhaseOrders::Calls calls,
                        planTraining(run, uses, options));
    for (uint32_t i = 0; i < roles; ++i)
      endSteps(calls[i], uses[i], microBatches);
    PhaseOrders orders(run, uses, Phase::Train, /*takesTurns=*/true);
    ZC_RETURN_IF_ERROR(orders.build(calls, ahead));
    if (foldAll(run, uses, steps, manifest))
      return Status();
  }
  return bad("steps of ", microBatches, " micro-batches in ", roles,
             " roles are not alike without flush");
}

} // namespace

Status buildOrders(plan::Manifest &manifest, const OrderOptions &options) {
  clear(manifest);
  ZC_ASSIGN_OR_RETURN(const std::vector<RoleUse> uses, useOfRoles(manifest));
  ZC_RETURN_IF_ERROR(checkMessages(manifest));
  bool trains = false, evaluates = false;
  for (const RoleUse &use : uses) {
    trains = trains || use.find(kApplyPart) >= 0 || use.find(kStepParts) >= 0;
    evaluates = evaluates || use.find(kEvalPart) >= 0;
  }
  std::vector<std::vector<uint32_t>> phasesOfRings;
  for (const plan::Role &role : manifest.roles())
    phasesOfRings.emplace_back(size_t(role.rings_size()));
  auto build = [&](Phase phase, const PhaseOrders::Calls &calls) {
    PhaseOrders orders(manifest, uses, phase);
    Status status = orders.build(calls);
    for (int i = 0; status.ok() && i < manifest.roles_size(); ++i)
      for (size_t ring = 0; ring < orders.rings(i).size(); ++ring)
        if (orders.rings(i)[ring].slots > 0)
          phasesOfRings[size_t(i)][ring] |= phase == Phase::Eval ? 2 : 1;
    return status;
  };
  const bool overlaps =
      isWithoutFlush(options.schedule) && manifest.roles_size() > 1;
  if (trains && overlaps) {
    if (microBatchesOf(manifest) != options.microBatches)
      return bad("a schedule of ", options.microBatches,
                 " micro-batches for a step of ", microBatchesOf(manifest));
    ZC_RETURN_IF_ERROR(buildWithoutFlush(manifest, uses));
    for (int i = 0; i < manifest.roles_size(); ++i)
      for (int ring = 0; ring < manifest.roles(i).rings_size(); ++ring)
        if (manifest.roles(i).rings(ring).slots() > 0)
          phasesOfRings[size_t(i)][size_t(ring)] |= 1;
  } else if (trains) {
    ZC_ASSIGN_OR_RETURN(const PhaseOrders::Calls calls,
                        planTraining(manifest, uses, options));
    ZC_RETURN_IF_ERROR(build(Phase::Train, calls));
  }
  if (evaluates) {
    PhaseOrders::Calls calls;
    for (const RoleUse &use : uses) {
      Result<std::vector<PlannedCall>> one =
          planEvaluation(use, options.evaluated);
      if (!one.ok())
        return one.status().withContext(strCat("role ", calls.size()));
      calls.push_back(std::move(*one));
    }
    ZC_RETURN_IF_ERROR(build(Phase::Eval, calls));
  }
  for (int i = 0; i < manifest.roles_size(); ++i) {
    addLateOrder(*manifest.mutable_roles(i), uses[size_t(i)]);
    plan::Role &role = *manifest.mutable_roles(i);
    role.set_flight_bytes(layOut(role, phasesOfRings[size_t(i)], false));
    role.set_offloaded_flight_bytes(
        layOut(role, phasesOfRings[size_t(i)], true));
  }
  return Status();
}

} // namespace zc
