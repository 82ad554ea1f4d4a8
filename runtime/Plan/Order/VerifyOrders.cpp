#include "runtime/Plan/Order/VerifyOrders.h"
#include "runtime/Plan/Channels.h"
#include "runtime/Plan/Order/EventGraph.h"
#include "runtime/Plan/Order/RunOfSteps.h"
#include "runtime/Plan/Types.h"

#include <algorithm>
#include <map>
#include <set>

namespace zc {
namespace {

template <typename... Parts> Status bad(const Parts &...parts) {
  return makeError(StatusCode::Corrupt, parts...);
}

struct MessageEnd {
  uint32_t role;
  const plan::Message *message;
};

std::string printEnd(const MessageEnd &end) {
  return strCat("role ", end.role, ", message ", end.message->id(), " '",
                end.message->name(), "'");
}

bool sameType(const plan::TensorType &a, const plan::TensorType &b) {
  return a.dtype() == b.dtype() && std::equal(a.dims().begin(), a.dims().end(),
                                              b.dims().begin(), b.dims().end());
}

Status verifyEnds(const MessageEnd &a, const MessageEnd &b) {
  if (a.message->sends() == b.message->sends())
    return bad(printEnd(a), ": role ", b.role, " has the same end of it");
  if (a.message->peer() != b.role || b.message->peer() != a.role)
    return bad(printEnd(a), ": its peer is ", a.message->peer(),
               ", but its other end is in role ", b.role, " with peer ",
               b.message->peer());
  if (!sameType(a.message->type(), b.message->type()))
    return bad(printEnd(a), ": it is ", printType(a.message->type()),
               ", but in role ", b.role, " ", printType(b.message->type()));
  if (a.message->line() != b.message->line() ||
      a.message->gradient() != b.message->gradient() ||
      a.message->eval() != b.message->eval())
    return bad(printEnd(a), ": role ", b.role,
               " has it on another line or of another kind");
  return Status();
}

/// A line goes from one role to one other, with messages of one kind.
Status verifyLineOf(const MessageEnd &end,
                    std::map<uint32_t, MessageEnd> &lines) {
  if (end.message->line() >= kLineChannels)
    return bad(printEnd(end), ": it is on line ", end.message->line(),
               ", but lines count from 0 to ", kLineChannels - 1);
  const MessageEnd &first =
      lines.emplace(end.message->line(), end).first->second;
  if (first.role != end.role || first.message->peer() != end.message->peer() ||
      first.message->gradient() != end.message->gradient())
    return bad(printEnd(end), ": line ", end.message->line(), " is that of ",
               printEnd(first), ", with other roles or another kind");
  return Status();
}

/// Every message has two ends, which agree.
Status verifyMessageEnds(const plan::Manifest &manifest) {
  std::map<uint32_t, std::vector<MessageEnd>> ends;
  for (uint32_t role = 0; role < uint32_t(manifest.roles_size()); ++role)
    for (const plan::Message &message : manifest.roles(int(role)).messages())
      ends[message.id()].push_back({role, &message});
  std::map<uint32_t, MessageEnd> lines;
  for (const auto &[id, both] : ends) {
    if (both.size() != 2 || both[0].role == both[1].role)
      return bad(printEnd(both[0]), ": it has ", both.size(),
                 " ends, not one in each of two roles");
    ZC_RETURN_IF_ERROR(verifyEnds(both[0], both[1]));
    ZC_RETURN_IF_ERROR(
        verifyLineOf(both[both[0].message->sends() ? 0 : 1], lines));
  }
  return Status();
}

/// Replicas of a stage follow one another, in their turns.
Status verifyReplica(const plan::Manifest &manifest, int role) {
  const plan::Role &own = manifest.roles(role);
  const Turn turn = Turn::of(own);
  if (own.stages_size() != 1)
    return bad("role ", role, ": it is one of ", turn.turns,
               " replicas, but of ", own.stages_size(), " stages");
  const int64_t first = int64_t(role) - turn.turn;
  if (first < 0 || first + turn.turns > manifest.roles_size())
    return bad("role ", role, ": there is no room for its ", turn.turns,
               " replicas");
  for (uint32_t i = 0; i < turn.turns; ++i) {
    const plan::Role &other = manifest.roles(int(first + i));
    if (Turn::of(other).turns != turn.turns || Turn::of(other).turn != i ||
        other.stages_size() != 1 || other.stages(0) != own.stages(0))
      return bad("role ", role, ": role ", first + i,
                 " is not the replica of its stage whose turn is ", i);
  }
  return Status();
}

/// Each of the model's stages is in one role, or in its replicas.
Status verifyStages(const plan::Manifest &manifest,
                    const std::vector<RoleUse> &uses) {
  std::set<uint32_t> seen;
  uint32_t count = 0;
  for (int i = 0; i < manifest.roles_size(); ++i) {
    const auto &stages = manifest.roles(i).stages();
    const Turn turn = uses[size_t(i)].turn(Phase::Train);
    if (turn.turns > 1)
      ZC_RETURN_IF_ERROR(verifyReplica(manifest, i));
    if (turn.turn > 0)
      continue;
    count += uses[size_t(i)].chunks();
    if (stages.empty() && uses[size_t(i)].chunks() == 1)
      seen.insert(uint32_t(i));
    else if (uint32_t(stages.size()) != uses[size_t(i)].chunks())
      return bad("role ", i, ": it says that it has ", stages.size(),
                 " stages, but has programs of ", uses[size_t(i)].chunks());
    for (int k = 1; k < stages.size(); ++k)
      if (stages.Get(k) <= stages.Get(k - 1))
        return bad("role ", i, ": its stages are not in their order");
    seen.insert(stages.begin(), stages.end());
  }
  if (seen.size() != count || *seen.rbegin() + 1 != count)
    return bad("the roles' stages are not those from 0 to ", count - 1);
  return Status();
}

/// Checks that the orders that the mode needs are there.
Status verifyPresence(const plan::Manifest &manifest,
                      const std::vector<RoleUse> &uses) {
  const bool trains = manifest.mode() == "train";
  const bool evaluates = uses.front().find(kEvalPart) >= 0;
  for (int i = 0; i < manifest.roles_size(); ++i) {
    const plan::Role &role = manifest.roles(i);
    if ((uses[i].find(kEvalPart) >= 0) != evaluates)
      return bad("role ", i, ": it has ", evaluates ? "no" : "a",
                 " program 'eval', unlike role 0");
    const std::pair<Phase, bool> expected[] = {
        {Phase::Train, trains},
        {Phase::TrainLate, trains && manifest.freeze_step() > 0},
        {Phase::Eval, (evaluates || !trains) && Turn::of(role).turn == 0}};
    for (auto [phase, isExpected] : expected)
      if ((orderOf(role, phase).actions_size() > 0) != isExpected)
        return bad("role ", i, ": it has ", isExpected ? "no" : "an",
                   " order of ", phaseName(phase));
  }
  return Status();
}

/// One end's moves on one line.
struct LineEnd {
  uint32_t role = 0;
  std::vector<int> actions;
};

} // namespace

uint32_t microBatchesOf(const plan::Manifest &manifest) {
  return uint32_t(std::max<int64_t>(
      1, std::min<int64_t>(manifest.accumulate(), UINT32_MAX)));
}

uint32_t evaluatedAtOnce(const plan::Manifest &manifest) {
  // A role of several stages has a program of each.
  const auto &actions = manifest.roles(0).eval().actions();
  auto first = std::find_if(
      actions.begin(), actions.end(),
      [](const plan::Action &action) { return action.has_call(); });
  return uint32_t(
      std::count_if(first, actions.end(), [&](const plan::Action &action) {
        return action.has_call() &&
               action.call().program() == first->call().program();
      }));
}

Status verifyLines(const plan::Manifest &manifest, Phase phase) {
  std::map<uint32_t, LineEnd> lines[2]; // received, sent
  for (uint32_t role = 0; role < uint32_t(manifest.roles_size()); ++role) {
    const plan::Role &holder = manifest.roles(int(role));
    const plan::Order &order = orderOf(holder, phase);
    for (int i = 0; i < order.actions_size(); ++i)
      if (const plan::Move *move = moveOf(order.actions(i))) {
        const plan::Message &message = holder.messages(int(move->message()));
        LineEnd &end = lines[message.sends()][message.line()];
        end.role = role;
        end.actions.push_back(i);
      }
  }
  for (const auto &[line, sent] : lines[1]) {
    const LineEnd &received = lines[0][line];
    auto at = [&](const LineEnd &end, size_t i) {
      const plan::Role &role = manifest.roles(int(end.role));
      const plan::Move &move =
          *moveOf(orderOf(role, phase).actions(end.actions[i]));
      return std::pair(role.messages(int(move.message())).id(),
                       move.micro_batch());
    };
    if (sent.actions.size() != received.actions.size())
      return bad("role ", sent.role, " sends ", sent.actions.size(),
                 " messages on line ", line, ", role ", received.role,
                 " receives ", received.actions.size());
    for (size_t i = 0; i < sent.actions.size(); ++i)
      if (at(sent, i) != at(received, i))
        return bad(
            printAction(manifest, sent.role, phase, sent.actions[i]),
            ": the other end of line ", line, " has there ",
            printAction(manifest, received.role, phase, received.actions[i]));
  }
  return Status();
}

namespace {

Status verifyPhase(const plan::Manifest &manifest,
                   const std::vector<RoleUse> &uses, Phase phase,
                   uint32_t steps) {
  for (uint32_t role = 0; role < uint32_t(manifest.roles_size()); ++role)
    ZC_RETURN_IF_ERROR(
        verifyRoleOrder(manifest, role, uses[role], phase, steps));
  ZC_RETURN_IF_ERROR(verifyLines(manifest, phase));
  if (std::string circle = EventGraph(manifest, uses, phase).printCircle();
      !circle.empty())
    return bad("the roles wait for each other: ", circle);
  return Status();
}

/// A run of steps. Messages go from a step to one near it: a circle that leads
/// through roles once each, and others can be made shorter, is no longer than
/// what all roles together are ahead.
Status verifyRun(const plan::Manifest &manifest,
                 const std::vector<RoleUse> &uses) {
  ZC_RETURN_IF_ERROR(verifyRunIndices(manifest, uses));
  const uint64_t ahead = stepsAhead(manifest);
  constexpr uint64_t kMostSteps = 1 << 12;
  const uint64_t steps = (ahead + 1) * uint64_t(manifest.roles_size()) + 3;
  if (steps > kMostSteps || steps * microBatchesOf(manifest) > (1 << 20))
    return bad("roles are ", ahead, " steps ahead of each other");
  ZC_ASSIGN_OR_RETURN(const plan::Manifest run,
                      unroll(manifest, uint32_t(steps)));
  return verifyPhase(run, uses, Phase::Train, uint32_t(steps))
      .withContext(strCat("in a run of ", steps, " steps"));
}

} // namespace

Status verifyOrders(const plan::Manifest &manifest) {
  if (manifest.roles_size() == 0)
    return bad("there are no roles");
  if (manifest.accumulate() < 0 || manifest.accumulate() > (1 << 20))
    return bad("a step has ", manifest.accumulate(), " micro-batches");
  ZC_ASSIGN_OR_RETURN(const std::vector<RoleUse> uses, useOfRoles(manifest));
  for (uint32_t role = 0; role < uint32_t(manifest.roles_size()); ++role)
    ZC_RETURN_IF_ERROR(verifyFlight(manifest, role, uses[role]));
  ZC_RETURN_IF_ERROR(verifyStages(manifest, uses));
  ZC_RETURN_IF_ERROR(verifyMessageEnds(manifest));
  ZC_RETURN_IF_ERROR(verifyPresence(manifest, uses));
  for (Phase phase : kPhases) {
    if (orderOf(manifest.roles(0), phase).actions_size() == 0)
      continue;
    if (phase == Phase::Train && overlapsSteps(manifest))
      ZC_RETURN_IF_ERROR(verifyRun(manifest, uses));
    else
      ZC_RETURN_IF_ERROR(verifyPhase(manifest, uses, phase, 1));
  }
  return Status();
}

} // namespace zc
