#include "runtime/Plan/Order/RoleUse.h"
#include "runtime/Plan/ProgramNames.h"
#include "runtime/Plan/Types.h"

#include <algorithm>

namespace zc {
namespace {

uint32_t partsOf(const std::string &base, bool splitsWeights) {
  const struct {
    const char *base;
    uint32_t parts;
  } kinds[] = {{programs::kForward, kForwardPart},
               {programs::kBackward,
                splitsWeights ? kBackwardPart : kBackwardPart | kWeightsPart},
               {programs::kWeights, kWeightsPart},
               {programs::kMicro, kMicroParts},
               {programs::kStep, kStepParts},
               {programs::kApply, kApplyPart},
               {programs::kCompressedApply, kLateApplyPart},
               {programs::kEval, kEvalPart},
               {programs::kGather, kGatherPart}};
  for (const auto &kind : kinds)
    if (base == kind.base)
      return kind.parts;
  return 0;
}

bool hasWeights(const plan::Role &role, uint32_t chunk) {
  return std::any_of(
      role.programs().begin(), role.programs().end(),
      [&](const plan::Program &program) {
        const ProgramName name = ProgramName::parse(program.name());
        return name.base == programs::kWeights && name.chunk == chunk;
      });
}

void insert(std::vector<uint32_t> &sorted, uint32_t value) {
  auto at = std::lower_bound(sorted.begin(), sorted.end(), value);
  if (at == sorted.end() || *at != value)
    sorted.insert(at, value);
}

/// Whether the buffer has bytes of the state.
bool isIn(const plan::Buffer &buffer, const plan::State &state) {
  Result<uint64_t> length = byteCount(buffer.type()),
                   whole = byteCount(state.type());
  return buffer.space() == plan::PERSISTENT && length.ok() && whole.ok() &&
         buffer.offset() < state.offset() + *whole &&
         state.offset() < buffer.offset() + *length;
}

/// The gathered states that the program has buffers in. Several may have the
/// same bytes: a buffer's name says which it is.
Result<std::vector<uint32_t>> gatheredBy(const plan::Role &role,
                                         const plan::Program &program) {
  std::vector<uint32_t> all, found;
  for (uint32_t i = 0; i < uint32_t(role.states_size()); ++i)
    if (role.states(int(i)).kind() == plan::GATHERED)
      all.push_back(i);
  for (const plan::Buffer &buffer : program.buffers()) {
    bool isMeant = true;
    for (uint32_t state : all) {
      if (!isIn(buffer, role.states(int(state))))
        continue;
      if (buffer.name() == role.states(int(state)).name()) {
        insert(found, state);
        isMeant = true;
        break;
      }
      isMeant = false;
    }
    if (!isMeant)
      return makeError(StatusCode::Corrupt, "program '", program.name(),
                       "' has a buffer '", buffer.name(),
                       "' where units are gathered");
  }
  return found;
}

Result<ProgramUse> useOf(const plan::Role &role, const plan::Program &program) {
  ProgramUse use;
  const ProgramName name = ProgramName::parse(program.name());
  use.parts = partsOf(name.base, hasWeights(role, name.chunk));
  use.chunk = use.parts ? name.chunk : 0;
  if (use.chunk >= kMostChunks)
    return makeError(StatusCode::Corrupt, "program '", program.name(),
                     "' is of stage ", use.chunk, " of the role, which has ",
                     kMostChunks, " at most");
  use.hasInputs = program.inputs_size() > 0;
  ZC_ASSIGN_OR_RETURN(use.gathered, gatheredBy(role, program));
  for (const plan::Buffer &buffer : program.buffers()) {
    if (buffer.space() != plan::FLIGHT)
      continue;
    if (buffer.ring() >= uint32_t(role.rings_size()))
      return makeError(StatusCode::Corrupt, "program '", program.name(),
                       "' has a buffer in ring ", buffer.ring(), " of ",
                       role.rings_size());
    insert(use.rings, buffer.ring());
  }
  for (const plan::Input &input : program.inputs()) {
    if (input.buffer() >= uint32_t(program.buffers_size()))
      return makeError(StatusCode::Corrupt, "program '", program.name(),
                       "', input '", input.name(), "': it is buffer ",
                       input.buffer());
    const plan::Buffer &buffer = program.buffers(int(input.buffer()));
    if (buffer.space() == plan::FLIGHT)
      insert(use.inputRings, buffer.ring());
  }
  return use;
}

std::string printMove(const plan::Role &role, const char *verb,
                      const plan::Move &move) {
  std::string text = strCat(verb, " of message ", move.message());
  if (move.message() < uint32_t(role.messages_size()))
    text = strCat(verb, " of message ", role.messages(int(move.message())).id(),
                  " '", role.messages(int(move.message())).name(), "'");
  return strCat(text, ", micro-batch ", move.micro_batch());
}

std::string programName(const plan::Role &role, uint32_t program) {
  return program < uint32_t(role.programs_size())
             ? "'" + role.programs(int(program)).name() + "'"
             : strCat("program ", program);
}

} // namespace

const char *phaseName(Phase phase) {
  if (phase == Phase::Train)
    return "train";
  return phase == Phase::Eval ? "eval" : "late train";
}

const plan::Order &orderOf(const plan::Role &role, Phase phase) {
  if (phase == Phase::Train)
    return role.train();
  return phase == Phase::Eval ? role.eval() : role.train_late();
}

plan::Order *mutableOrderOf(plan::Role &role, Phase phase) {
  if (phase == Phase::Train)
    return role.mutable_train();
  return phase == Phase::Eval ? role.mutable_eval() : role.mutable_train_late();
}

bool isOf(const plan::Message &message, Phase phase) {
  return message.eval() == (phase == Phase::Eval);
}

Part partOf(const plan::Message &message) {
  if (message.eval())
    return kEvalPart;
  return message.gradient() ? kBackwardPart : kForwardPart;
}

Result<RoleUse> RoleUse::of(const plan::Role &role) {
  RoleUse use;
  use.own = Turn::of(role);
  if (use.own.turn >= use.own.turns)
    return makeError(StatusCode::Corrupt, "it is replica ", use.own.turn,
                     " of ", use.own.turns);
  for (const plan::Program &program : role.programs()) {
    ZC_ASSIGN_OR_RETURN(ProgramUse one, useOf(role, program));
    use.numChunks = std::max(use.numChunks, one.chunk + 1);
    use.programs.push_back(std::move(one));
  }
  return use;
}

int RoleUse::find(uint32_t parts, uint32_t chunk) const {
  for (size_t i = 0; i < programs.size(); ++i)
    if (programs[i].parts == parts && programs[i].chunk == chunk)
      return int(i);
  return -1;
}

std::vector<Touch> RoleUse::touches(const plan::Role &role,
                                    const plan::Action &action) const {
  std::vector<Touch> touches;
  if (const plan::Move *move = moveOf(action))
    touches.push_back(
        {role.messages(int(move->message())).ring(), move->slot()});
  if (action.has_call())
    for (uint32_t ring : programs[action.call().program()].rings)
      touches.push_back({ring, action.call().slots(int(ring))});
  if (action.has_feed())
    for (uint32_t ring : programs[action.feed().program()].inputRings)
      touches.push_back({ring, action.feed().slots(int(ring))});
  return touches;
}

void gather(const plan::Role &role, const ProgramUse &program,
            std::set<uint32_t> &whole) {
  auto shareBytes = [&](uint32_t first, uint32_t second) {
    const plan::State &a = role.states(int(first));
    const plan::State &b = role.states(int(second));
    return a.offset() < b.offset() + *byteCount(b.type()) &&
           b.offset() < a.offset() + *byteCount(a.type());
  };
  for (uint32_t state : program.gathered) {
    for (auto other = whole.begin(); other != whole.end();)
      other = *other != state && shareBytes(*other, state) ? whole.erase(other)
                                                           : std::next(other);
    whole.insert(state);
  }
}

Result<std::vector<RoleUse>> useOfRoles(const plan::Manifest &manifest) {
  std::vector<RoleUse> uses;
  for (int i = 0; i < manifest.roles_size(); ++i) {
    Result<RoleUse> use = RoleUse::of(manifest.roles(i));
    if (!use.ok())
      return use.status().withContext(strCat("role ", i));
    for (const plan::Message &message : manifest.roles(i).messages())
      use->peers.push_back(message.peer() < uint32_t(manifest.roles_size())
                               ? Turn::of(manifest.roles(int(message.peer())))
                               : Turn());
    uses.push_back(std::move(*use));
  }
  return uses;
}

uint32_t microBatchOf(const plan::Action &action) {
  if (const plan::Move *move = moveOf(action))
    return move->micro_batch();
  return action.has_call() ? action.call().micro_batch()
                           : action.feed().micro_batch();
}

const plan::Move *moveOf(const plan::Action &action) {
  if (action.has_send())
    return &action.send();
  return action.has_receive() ? &action.receive() : nullptr;
}

std::string printAction(const plan::Manifest &manifest, uint32_t role,
                        Phase phase, int index) {
  const plan::Role &holder = manifest.roles(int(role));
  const plan::Action &action = orderOf(holder, phase).actions(index);
  std::string what = "an empty one";
  if (const plan::Move *move = moveOf(action))
    what = printMove(holder, action.has_send() ? "send" : "receive", *move);
  else if (action.has_call())
    what = strCat("call of ", programName(holder, action.call().program()),
                  ", micro-batch ", action.call().micro_batch());
  else if (action.has_feed())
    what = strCat("feed of ", programName(holder, action.feed().program()),
                  ", micro-batch ", action.feed().micro_batch());
  return strCat("role ", role, ", ", phaseName(phase), " action ", index, " (",
                what, ")");
}

} // namespace zc
