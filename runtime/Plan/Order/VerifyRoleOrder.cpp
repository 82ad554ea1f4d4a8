// Checks one role's order: its calls, feeds and moves, and the owners of slots.
#include "runtime/Plan/Order/VerifyOrders.h"
#include "runtime/Plan/Order/VersionUse.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace zc {
namespace {

template <typename... Parts> Status bad(const Parts &...parts) {
  return makeError(StatusCode::Corrupt, parts...);
}

/// Walks an order once; the indices of each action are checked before they are
/// used.
class OrderWalk {
public:
  OrderWalk(const plan::Manifest &manifest, const plan::Role &role,
            const RoleUse &use, Phase phase, uint32_t steps)
      : manifest(manifest), role(role), use(use), phase(phase),
        order(orderOf(role, phase)),
        microBatches(phase == Phase::Eval ? evaluatedAtOnce(manifest)
                                          : microBatchesOf(manifest)),
        steps(steps), perStep(std::max(1u, microBatches / steps)),
        turn(use.turn(phase)), done(use.chunks()) {
    for (int i = 0; steps > 1 && i < role.programs_size(); ++i)
      versions.push_back(versionUseOf(role, role.programs(i)));
    for (uint32_t ring = 0; ring < uint32_t(role.rings_size()); ++ring)
      writers.push_back(findWriter(ring));
  }

  Status next(int index);
  Status end() const;
  /// Whether a slot is in two micro-batches' hands at once; sets the action.
  Status verifyTenancies(int &index) const;

private:
  /// A micro-batch's use of a ring, from the first action to the last.
  struct Tenancy {
    uint32_t ring, slot, microBatch;
    int first, last;
    uint32_t lastParts = 0;          // of the last call
    bool isWritten = false;          // by a call, or by messages that one read
    std::vector<uint32_t> awaited{}; // messages received and not read yet
  };

  Status verifyProgram(uint32_t program) const;
  Status verifySlots(const plan::Action &action) const;
  Status verifyIndices(const plan::Action &action) const;
  Status touch(const plan::Action &action, int index);
  Status onMove(const plan::Move &move, bool sends);
  Status onFeed(const plan::Feed &feed);
  Status onCall(const plan::Call &call);
  Status advance(const ProgramUse &program, uint32_t microBatch);
  Status advanceEnd(uint32_t parts, uint32_t microBatch);
  Status verifyStep(const plan::Call &call, uint32_t parts,
                    uint32_t updates) const;
  Status checkBefore(const ProgramUse &program, uint32_t microBatch) const;
  Status readMessages(const plan::Call &call, const ProgramUse &program);
  Status useRings(const plan::Call &call, const ProgramUse &program);
  Status useGathered(const ProgramUse &program);
  uint32_t findWriter(uint32_t ring) const;
  /// Among those that this role computes.
  uint32_t placeOf(uint32_t microBatch) const {
    return turn.placeOf(microBatch);
  }
  Tenancy &tenancy(uint32_t ring, uint32_t microBatch) {
    return tenancies.at({ring, microBatch});
  }

  /// Micro-batches of one stage that are done; forwards are evaluations in that
  /// phase.
  struct Done {
    uint32_t forwards = 0, backwards = 0, weights = 0;

    uint32_t &of(uint32_t part) {
      return part == kBackwardPart  ? backwards
             : part == kWeightsPart ? weights
                                    : forwards;
    }
  };
  /// `end` micro-batches of all replicas.
  bool isDone(const Done &stage, uint32_t end) const {
    end = turn.count(end);
    return stage.forwards >= end &&
           (phase == Phase::Eval ||
            (stage.backwards >= end && stage.weights >= end));
  }

  const plan::Manifest &manifest;
  const plan::Role &role;
  const RoleUse &use;
  const Phase phase;
  const plan::Order &order;
  const uint32_t microBatches;
  const uint32_t steps, perStep;
  const Turn turn;
  std::vector<VersionUse>
      versions; // of programs, where there are several steps
  std::map<std::pair<uint32_t, uint32_t>, Tenancy> tenancies;
  std::set<std::pair<uint32_t, uint32_t>> moved; // message, micro-batch
  std::vector<Done> done;                        // by the role's stages
  std::vector<uint32_t> writers;   // by ring: its first program, of all
  std::set<uint32_t> gathered;     // states that are whole in this step
  uint32_t applied = 0;            // steps that have ended
  const plan::Feed *fed = nullptr; // for the next call
};

Status OrderWalk::verifyProgram(uint32_t program) const {
  if (program >= uint32_t(role.programs_size()))
    return bad("the role has ", role.programs_size(), " programs");
  const uint32_t parts = use.program(program).parts;
  uint32_t allowed = kEvalPart;
  if (phase != Phase::Eval)
    allowed = kForwardPart | kBackwardPart | kWeightsPart | kGatherPart |
              (phase == Phase::Train ? kApplyPart : kLateApplyPart);
  if (parts == 0 || (parts & ~allowed) != 0)
    return bad("the program does not belong there");
  return Status();
}

Status OrderWalk::verifySlots(const plan::Action &action) const {
  const auto &slots =
      action.has_call() ? action.call().slots() : action.feed().slots();
  if (slots.size() > role.rings_size() ||
      (action.has_call() && slots.size() != role.rings_size()))
    return bad("it has slots of ", slots.size(), " rings of ",
               role.rings_size());
  const ProgramUse &program = use.program(
      action.has_call() ? action.call().program() : action.feed().program());
  const std::vector<uint32_t> &rings =
      action.has_call() ? program.rings : program.inputRings;
  for (uint32_t ring : rings)
    if (ring >= uint32_t(slots.size()) ||
        slots.Get(int(ring)) >= role.rings(int(ring)).slots())
      return bad("it has no slot of ring '", role.rings(int(ring)).name(),
                 "', which has ", role.rings(int(ring)).slots());
  for (int ring = 0; ring < slots.size(); ++ring)
    if (slots.Get(ring) != 0 &&
        !std::binary_search(program.rings.begin(), program.rings.end(),
                            uint32_t(ring)))
      return bad("it has slot ", slots.Get(ring), " of ring '",
                 role.rings(ring).name(), "', which the program does not use");
  return Status();
}

Status OrderWalk::verifyIndices(const plan::Action &action) const {
  if (action.kind_case() == plan::Action::KIND_NOT_SET)
    return bad("it does nothing");
  if (microBatchOf(action) >= microBatches)
    return bad("there are ", microBatches, " micro-batches");
  const plan::Move *move = moveOf(action);
  if (!move) {
    const uint32_t program =
        action.has_call() ? action.call().program() : action.feed().program();
    ZC_RETURN_IF_ERROR(verifyProgram(program));
    const uint32_t ends = kApplyPart | kLateApplyPart;
    if (!turn.has(microBatchOf(action)) && !(use.program(program).parts & ends))
      return bad("the micro-batch is of another replica of the stage");
    return verifySlots(action);
  }
  if (move->message() >= uint32_t(role.messages_size()))
    return bad("the role has ", role.messages_size(), " messages");
  const plan::Message &message = role.messages(int(move->message()));
  if (message.sends() != action.has_send())
    return bad("the role is at the message's other end");
  if (!isOf(message, phase))
    return bad("the message does not belong there");
  if (!use.moves(phase, move->message(), move->micro_batch()))
    return bad("the message is of other replicas' micro-batches");
  if (message.chunk() >= done.size())
    return bad("the message is of stage ", message.chunk(), " of the role's ",
               done.size());
  const plan::Ring &ring = role.rings(int(message.ring()));
  if (move->slot() >= ring.slots())
    return bad("it uses slot ", move->slot(), " of ring '", ring.name(),
               "', which has ", ring.slots());
  return Status();
}

Status OrderWalk::touch(const plan::Action &action, int index) {
  const uint32_t microBatch = microBatchOf(action);
  for (Touch touch : use.touches(role, action)) {
    Tenancy fresh{touch.ring, touch.slot, microBatch, index, index};
    Tenancy &held = tenancies.emplace(std::pair(touch.ring, microBatch), fresh)
                        .first->second;
    if (held.slot != touch.slot)
      return bad("it uses slot ", touch.slot, " of ring '",
                 role.rings(int(touch.ring)).name(),
                 "', but the micro-batch is in slot ", held.slot);
    held.last = index;
  }
  return Status();
}

Status OrderWalk::onMove(const plan::Move &move, bool sends) {
  const plan::Message &message = role.messages(int(move.message()));
  if (!moved.insert({move.message(), move.micro_batch()}).second)
    return bad("it was moved before");
  const Part part = partOf(message);
  const bool called =
      done[message.chunk()].of(part) > placeOf(move.micro_batch());
  Tenancy &slot = tenancy(message.ring(), move.micro_batch());
  if (sends && !called)
    return bad("what it sends was not written yet");
  if (sends && (slot.lastParts & part) == 0)
    return bad("another call has used the slot, or none, since what it sends "
               "was written");
  if (!sends && called)
    return bad("the call that reads it was before");
  if (!sends)
    slot.awaited.push_back(move.message());
  // There all roles meet: who still waits for a message would never come.
  if (applied == steps)
    return bad("it is behind the apply that ends the step");
  return Status();
}

Status OrderWalk::onFeed(const plan::Feed &feed) {
  if (!use.program(feed.program()).hasInputs)
    return bad("the program has no inputs");
  if (fed)
    return bad("the call after the feed before is missing");
  fed = &feed;
  return Status();
}

/// Checks that a micro-batch's forward runs after that of the stage in front,
/// and its backward after its forward and the backward of the stage behind.
Status OrderWalk::checkBefore(const ProgramUse &program,
                              uint32_t microBatch) const {
  const Done &own = done[program.chunk];
  auto isMissing = [&](uint32_t count) { return count <= placeOf(microBatch); };
  if (program.parts & (kForwardPart | kEvalPart))
    if (program.chunk > 0 && isMissing(done[program.chunk - 1].forwards))
      return bad("it comes before the forward of the stage in front");
  if (phase == Phase::Eval)
    return Status();
  if (program.parts & kBackwardPart) {
    if (isMissing(own.forwards))
      return bad("it comes before the micro-batch's forward");
    if (program.chunk + 1 < done.size() &&
        isMissing(done[program.chunk + 1].backwards))
      return bad("it comes before the backward of the stage behind");
  }
  if ((program.parts & kWeightsPart) && isMissing(own.backwards))
    return bad("it comes before the micro-batch's backward");
  return Status();
}

/// The update is a step's last call.
Status OrderWalk::advanceEnd(uint32_t parts, uint32_t microBatch) {
  if (!(parts & (kApplyPart | kLateApplyPart)))
    return Status();
  const uint32_t end = (applied + 1) * perStep;
  if (microBatch != applied * perStep ||
      !std::all_of(done.begin(), done.end(),
                   [&](const Done &stage) { return isDone(stage, end); }))
    return bad("it comes before the micro-batches' end");
  ++applied;
  return Status();
}

/// Each part of each micro-batch comes once, in their order.
Status OrderWalk::advance(const ProgramUse &program, uint32_t microBatch) {
  if (applied == steps)
    return bad("the step has ended before");
  for (uint32_t part : {kForwardPart, kEvalPart, kBackwardPart, kWeightsPart}) {
    if (!(program.parts & part))
      continue;
    uint32_t &count = done[program.chunk].of(part);
    if (count != placeOf(microBatch))
      return bad("micro-batch ", turn.turn + count * turn.turns,
                 " comes first");
    ++count;
  }
  ZC_RETURN_IF_ERROR(checkBefore(program, microBatch));
  return advanceEnd(program.parts, microBatch);
}

/// Checks that a call after `updates` updates belongs to the step that runs,
/// and reads the versions of parameters that it should.
Status OrderWalk::verifyStep(const plan::Call &call, uint32_t parts,
                             uint32_t updates) const {
  const uint32_t step = call.micro_batch() / perStep;
  if ((parts & (kBackwardPart | kWeightsPart)) && step != updates)
    return bad("its gradients are of step ", step, ", but ", updates,
               " steps have ended");
  if (versions.empty() ||
      (parts & (kForwardPart | kBackwardPart | kWeightsPart)) == 0)
    return Status();
  return verifyVersionUse(versions[call.program()], step, updates,
                          role.versions());
}

/// The writer of a ring: of the programs that use it, the one that comes first
/// in a micro-batch.
uint32_t OrderWalk::findWriter(uint32_t ring) const {
  auto rank = [&](uint32_t program) {
    const ProgramUse &one = use.program(program);
    const uint32_t behind = use.chunks() - 1 - one.chunk;
    return one.parts & (kForwardPart | kEvalPart)
               ? std::tuple(0, one.chunk, 0)
               : std::tuple(1, behind, one.parts & kBackwardPart ? 0 : 1);
  };
  uint32_t first = UINT32_MAX;
  for (uint32_t i = 0; i < uint32_t(role.programs_size()); ++i) {
    const bool isEval = use.program(i).parts == kEvalPart;
    if (isEval == (phase == Phase::Eval) &&
        std::binary_search(use.program(i).rings.begin(),
                           use.program(i).rings.end(), ring) &&
        (first == UINT32_MAX || rank(i) < rank(first)))
      first = i;
  }
  return first;
}

/// Messages for a call are there, and none that another call is to read.
Status OrderWalk::readMessages(const plan::Call &call,
                               const ProgramUse &program) {
  for (int i = 0; i < role.messages_size(); ++i) {
    const plan::Message &message = role.messages(i);
    if (message.sends() || !isOf(message, phase) ||
        !isEndOf(program, message) ||
        !use.moves(phase, uint32_t(i), call.micro_batch()))
      continue;
    if (!moved.count({uint32_t(i), call.micro_batch()}))
      return bad("message ", message.id(), " '", message.name(),
                 "', which it reads, was not received");
    Tenancy &slot = tenancy(message.ring(), call.micro_batch());
    slot.isWritten = true;
    std::vector<uint32_t> &awaited = slot.awaited;
    awaited.erase(std::remove(awaited.begin(), awaited.end(), uint32_t(i)),
                  awaited.end());
  }
  return useRings(call, program);
}

/// Checks that the slots that a call reads have been written.
Status OrderWalk::useRings(const plan::Call &call, const ProgramUse &program) {
  for (uint32_t ring : program.rings) {
    Tenancy &slot = tenancy(ring, call.micro_batch());
    if (!slot.isWritten && call.program() != writers[ring] &&
        (use.program(writers[ring]).parts & program.parts) == 0)
      return bad("it uses ring '", role.rings(int(ring)).name(),
                 "' before program '", role.programs(int(writers[ring])).name(),
                 "', which writes it, has run");
    slot.isWritten = true;
    slot.lastParts = program.parts;
    if (!slot.awaited.empty())
      return bad("message ", role.messages(int(slot.awaited.front())).id(),
                 " '", role.messages(int(slot.awaited.front())).name(),
                 "' was received into its slot for a later call");
  }
  return Status();
}

/// Checks that gathered units hold this step's parameters: an update makes them
/// old, and a gather into the same bytes overwrites them.
Status OrderWalk::useGathered(const ProgramUse &program) {
  if (program.parts & (kApplyPart | kLateApplyPart))
    gathered.clear();
  if (program.parts & kGatherPart)
    gather(role, program, gathered);
  for (uint32_t state : program.gathered)
    if (!gathered.count(state))
      return bad("it uses '", role.states(int(state)).name(),
                 "', which was not gathered in this step, or overwritten");
  return Status();
}

Status OrderWalk::onCall(const plan::Call &call) {
  const ProgramUse &program = use.program(call.program());
  if (fed && (fed->program() != call.program() ||
              fed->micro_batch() != call.micro_batch()))
    return bad("another program or micro-batch was fed");
  if (!fed && program.hasInputs)
    return bad("its inputs were not fed");
  for (uint32_t ring : program.inputRings)
    if (fed->slots(int(ring)) != call.slots(int(ring)))
      return bad("its inputs were fed to another slot of ring '",
                 role.rings(int(ring)).name(), "'");
  fed = nullptr;
  const uint32_t updates = applied;
  ZC_RETURN_IF_ERROR(advance(program, call.micro_batch()));
  if (phase != Phase::Eval)
    ZC_RETURN_IF_ERROR(verifyStep(call, program.parts, updates));
  ZC_RETURN_IF_ERROR(useGathered(program));
  return readMessages(call, program);
}

Status OrderWalk::next(int index) {
  const plan::Action &action = order.actions(index);
  ZC_RETURN_IF_ERROR(verifyIndices(action));
  ZC_RETURN_IF_ERROR(touch(action, index));
  if (const plan::Move *move = moveOf(action))
    return onMove(*move, action.has_send());
  return action.has_feed() ? onFeed(action.feed()) : onCall(action.call());
}

Status OrderWalk::end() const {
  if (fed)
    return bad("the call after the last feed is missing");
  for (const Done &stage : done)
    if (!isDone(stage, microBatches) ||
        (phase != Phase::Eval && applied != steps))
      return bad("calls are missing: of ", microBatches,
                 " micro-batches there ", "are ", stage.forwards, " forwards, ",
                 stage.backwards, " backwards, ", stage.weights,
                 " weights, and ", applied == steps ? "an" : "no", " apply");
  for (int i = 0; i < role.messages_size(); ++i) {
    if (!isOf(role.messages(i), phase))
      continue;
    for (uint32_t k = 0; k < microBatches; ++k)
      if (use.moves(phase, uint32_t(i), k) && !moved.count({uint32_t(i), k}))
        return bad("message ", role.messages(i).id(), " '",
                   role.messages(i).name(), "' of micro-batch ", k,
                   " is not moved");
  }
  return Status();
}

Status OrderWalk::verifyTenancies(int &index) const {
  std::vector<const Tenancy *> sorted;
  for (const auto &[key, tenancy] : tenancies)
    sorted.push_back(&tenancy);
  std::sort(sorted.begin(), sorted.end(), [](auto *a, auto *b) {
    return std::tuple(a->ring, a->slot, a->first) <
           std::tuple(b->ring, b->slot, b->first);
  });
  for (size_t i = 1; i < sorted.size(); ++i) {
    const Tenancy &a = *sorted[i - 1], &b = *sorted[i];
    index = b.first;
    if (a.ring == b.ring && a.slot == b.slot && a.last > b.first)
      return bad("slot ", b.slot, " of ring '", role.rings(int(b.ring)).name(),
                 "' is in use by micro-batch ", a.microBatch, " up to action ",
                 a.last);
  }
  return Status();
}

} // namespace

Status verifyRoleOrder(const plan::Manifest &manifest, uint32_t index,
                       const RoleUse &use, Phase phase, uint32_t steps) {
  const plan::Role &role = manifest.roles(int(index));
  const plan::Order &order = orderOf(role, phase);
  const std::string who = strCat("role ", index, ", ", phaseName(phase));
  // An order's length bounds the work that a number in a file can cause.
  const uint32_t own = use.turn(phase).count(microBatchesOf(manifest));
  if (phase != Phase::Eval && own > uint32_t(order.actions_size()))
    return bad(who, ": ", own, " micro-batches in ", order.actions_size(),
               " actions");
  OrderWalk walk(manifest, role, use, phase, steps);
  for (int i = 0; i < order.actions_size(); ++i)
    if (Status status = walk.next(i); !status.ok())
      return status.withContext(printAction(manifest, index, phase, i));
  if (Status status = walk.end(); !status.ok())
    return status.withContext(who);
  int action = 0;
  if (Status status = walk.verifyTenancies(action); !status.ok())
    return status.withContext(printAction(manifest, index, phase, action));
  return Status();
}

} // namespace zc
