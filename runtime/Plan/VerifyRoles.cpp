#include "runtime/Plan/FileTensor.h"
#include "runtime/Plan/Types.h"
#include "runtime/Plan/Verify.h"

#include <algorithm>
#include <map>

namespace zc {
namespace {

// More micro-batches than a step has.
constexpr uint32_t kMaxSlots = 1 << 20;

template <typename... Parts> Status bad(const Parts &...parts) {
  return makeError(StatusCode::Corrupt, parts...);
}

Status verifyRing(const plan::Ring &ring, uint64_t flightBytes) {
  if (!plan::MemoryClass_IsValid(ring.memory_class()))
    return bad("it is of no memory class");
  if (ring.offset() % kBufferAlignment != 0 ||
      ring.slot_bytes() % kBufferAlignment != 0)
    return bad("its slots of ", ring.slot_bytes(), " bytes from ",
               ring.offset(), " on are not aligned");
  if (ring.slots() < 1 || ring.slots() > kMaxSlots)
    return bad("it has ", ring.slots(), " slots");
  if (ring.offset() > flightBytes ||
      ring.slot_bytes() > (flightBytes - ring.offset()) / ring.slots())
    return bad(ring.slots(), " slots of ", ring.slot_bytes(), " bytes from ",
               ring.offset(), " on lie outside of the region's ", flightBytes);
  return Status();
}

/// Those of files that all their holders must have alike.
bool isOfFiles(const plan::State &state) {
  return state.kind() != plan::ACCUMULATOR && state.kind() != plan::COPY &&
         !isCoordinate(state);
}

Status verifyAlike(const FileTensor &first, const FileTensor &second) {
  auto slotOf = [](const FileTensor &tensor) { return tensor.state->slot(); };
  if (first.state->kind() == second.state->kind() &&
      first.type.SerializeAsString() == second.type.SerializeAsString() &&
      slotOf(first) == slotOf(second))
    return Status();
  return bad("'", first.name(), "' is ", printType(first.type),
             " in one role and ", printType(second.type),
             " in another, or of another kind");
}

/// What several roles hold is one tensor, which files have once.
Status verifyTiedStates(const plan::Manifest &manifest) {
  std::map<std::string, FileTensor> known;
  for (const plan::Role &role : manifest.roles())
    for (const plan::State &state : role.states()) {
      if (!isOfFiles(state))
        continue;
      for (const FileTensor &tensor : fileTensorsOf(state)) {
        auto [found, isNew] = known.emplace(tensor.name(), tensor);
        if (!isNew)
          ZC_RETURN_IF_ERROR(verifyAlike(found->second, tensor));
      }
    }
  return Status();
}

/// One end of a message, by itself.
Status verifyEnd(const plan::Message &message, const plan::Role &role,
                 int roleIndex, int roles) {
  if (message.peer() >= uint32_t(roles) || int(message.peer()) == roleIndex)
    return bad("its other end is role ", message.peer(), " of ", roles);
  if (message.ring() >= uint32_t(role.rings_size()))
    return bad("it is in ring ", message.ring(), " of ", role.rings_size());
  const uint64_t slot = role.rings(int(message.ring())).slot_bytes();
  ZC_ASSIGN_OR_RETURN(const uint64_t bytes, byteCount(message.type()));
  if (message.offset() > slot || bytes > slot - message.offset())
    return bad("bytes ", message.offset(), " to ", message.offset(), " + ",
               bytes, " lie outside of the slot's ", slot);
  if (message.offset() % elementBytes(message.type().dtype()) != 0)
    return bad("its offset ", message.offset(),
               " is not aligned for its elements");
  return Status();
}

/// Both ends of a message: of a role each, by whether it sends.
struct Ends {
  const plan::Message *ends[2] = {nullptr, nullptr};
  int roles[2] = {-1, -1};
};

Status verifyEnds(const Ends &pair) {
  const plan::Message *receiver = pair.ends[0], *sender = pair.ends[1];
  if (!receiver || !sender)
    return bad("it has one end");
  if (int(sender->peer()) != pair.roles[0] ||
      int(receiver->peer()) != pair.roles[1])
    return bad("its ends are of other roles than each other's");
  if (sender->line() != receiver->line() ||
      sender->gradient() != receiver->gradient() ||
      sender->type().SerializeAsString() !=
          receiver->type().SerializeAsString())
    return bad("its ends differ in line, kind or type");
  return Status();
}

Result<std::map<uint32_t, Ends>> pairEnds(const plan::Manifest &manifest) {
  std::map<uint32_t, Ends> pairs;
  for (int i = 0; i < manifest.roles_size(); ++i)
    for (const plan::Message &message : manifest.roles(i).messages()) {
      Status status =
          verifyEnd(message, manifest.roles(i), i, manifest.roles_size());
      Ends &pair = pairs[message.id()];
      if (status.ok() && pair.ends[message.sends()])
        status = bad("two ends of it ", message.sends() ? "send" : "receive");
      if (!status.ok())
        return status.withContext(strCat("message ", message.id(), " ('",
                                         message.name(), "') of role ", i));
      pair.ends[message.sends()] = &message;
      pair.roles[message.sends()] = i;
    }
  return pairs;
}

Status verifyMessages(const plan::Manifest &manifest) {
  ZC_ASSIGN_OR_RETURN(auto pairs, pairEnds(manifest));
  std::map<uint32_t, std::tuple<int, int, bool>> lines;
  for (const auto &[id, pair] : pairs) {
    Status status = verifyEnds(pair);
    if (status.ok()) {
      const plan::Message &sender = *pair.ends[true];
      const std::tuple line(pair.roles[1], pair.roles[0], sender.gradient());
      auto [found, isNew] = lines.emplace(sender.line(), line);
      if (!isNew && found->second != line)
        status = bad("its line ", sender.line(),
                     " is of other roles or another kind");
    }
    if (!status.ok())
      return status.withContext(strCat("message ", id));
  }
  return Status();
}

} // namespace

Status verifyRings(const plan::Role &role) {
  if (role.flight_bytes() > kMaxRegion)
    return bad("the flight region has ", role.flight_bytes(), " bytes");
  // Rings of a step and of an evaluation share bytes; verifyOrders() says
  // which.
  for (const plan::Ring &ring : role.rings())
    if (Status status = verifyRing(ring, role.flight_bytes()); !status.ok())
      return status.withContext("ring '" + ring.name() + "'");
  return Status();
}

Status verifyRolesFit(const plan::Manifest &manifest) {
  ZC_RETURN_IF_ERROR(verifyTiedStates(manifest));
  return verifyMessages(manifest);
}

} // namespace zc
