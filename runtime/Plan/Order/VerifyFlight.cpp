// The flight space of one role: rings, and what lies in their slots.
#include "runtime/Plan/Order/VerifyOrders.h"
#include "runtime/Plan/Types.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace zc {
namespace {

// More than any machine has; keeps sums of sizes far from overflow.
constexpr uint64_t kMaxFlight = uint64_t(1) << 48;

template <typename... Parts> Status bad(const Parts &...parts) {
  return makeError(StatusCode::Corrupt, parts...);
}

Status verifyRing(const plan::Ring &ring, const plan::Role &role) {
  const uint64_t flightBytes =
      ring.offloaded() ? role.offloaded_flight_bytes() : role.flight_bytes();
  if (ring.offset() % kBufferAlignment != 0 ||
      ring.slot_bytes() % kBufferAlignment != 0)
    return bad("it begins at ", ring.offset(), " and has slots of ",
               ring.slot_bytes(), " bytes, not both multiples of ",
               kBufferAlignment);
  if (!plan::MemoryClass_IsValid(ring.memory_class()))
    return bad("it is of no memory class");
  // The slots are fewer than 2^32; neither product nor sum overflows.
  if (ring.slots() > 0 && ring.slot_bytes() > kMaxFlight / ring.slots())
    return bad("it has ", ring.slots(), " slots of ", ring.slot_bytes(),
               " bytes");
  const uint64_t bytes = ring.slot_bytes() * ring.slots();
  if (ring.offset() > flightBytes || bytes > flightBytes - ring.offset())
    return bad("bytes ", ring.offset(), " to ", ring.offset(), " + ", bytes,
               " lie outside of the flight space's ", flightBytes);
  return Status();
}

Status verifyPlace(const plan::Role &role, uint32_t ring, uint64_t offset,
                   const plan::TensorType &type) {
  if (ring >= uint32_t(role.rings_size()))
    return bad("it is in ring ", ring, " of ", role.rings_size());
  ZC_ASSIGN_OR_RETURN(const uint64_t bytes, byteCount(type));
  const uint64_t slot = role.rings(int(ring)).slot_bytes();
  if (offset > slot || bytes > slot - offset)
    return bad("bytes ", offset, " to ", offset, " + ", bytes,
               " lie outside of the ", slot, " of a slot of ring ", ring);
  if (offset % elementBytes(type.dtype()) != 0)
    return bad("its offset ", offset, " is not aligned for its elements");
  return Status();
}

Status verifyBuffers(const plan::Role &role, const plan::Program &program,
                     const ProgramUse &use) {
  constexpr uint32_t kMicroBatchParts =
      kForwardPart | kBackwardPart | kWeightsPart | kEvalPart;
  if (!use.rings.empty() && (use.parts & kMicroBatchParts) == 0)
    return bad("it runs for no micro-batch, but has buffers in ring ",
               use.rings.front());
  for (int i = 0; i < program.buffers_size(); ++i) {
    const plan::Buffer &buffer = program.buffers(i);
    if (buffer.space() != plan::FLIGHT)
      continue;
    if (buffer.offloaded() != role.rings(int(buffer.ring())).offloaded())
      return bad("buffer ", i, " is in another memory than its ring");
    if (Status status =
            verifyPlace(role, buffer.ring(), buffer.offset(), buffer.type());
        !status.ok())
      return status.withContext(strCat("buffer ", i));
  }
  return Status();
}

bool overlap(uint64_t a, uint64_t aBytes, uint64_t b, uint64_t bBytes) {
  return aBytes > 0 && bBytes > 0 && a < b + bBytes && b < a + aBytes;
}

/// Received data may not fall onto anything else that is under way.
Status verifyOverlap(const plan::Message &a, const plan::Message &b) {
  if (a.ring() == b.ring() && !(a.sends() && b.sends()) &&
      overlap(a.offset(), *byteCount(a.type()), b.offset(),
              *byteCount(b.type())))
    return bad("messages ", a.id(), " '", a.name(), "' and ", b.id(), " '",
               b.name(), "' overlap in ring ", a.ring());
  return Status();
}

/// Replicas of a stage send to one place, each for its own micro-batches: only
/// the first one's message is as any other.
class ReplicaMessages {
public:
  explicit ReplicaMessages(const plan::Manifest &manifest)
      : manifest(manifest) {}

  Result<bool> isFirst(const plan::Message &message) {
    if (message.sends() || message.peer() >= uint32_t(manifest.roles_size()))
      return true;
    const Turn turn = Turn::of(manifest.roles(int(message.peer())));
    if (turn.turns < 2)
      return true;
    const std::tuple place(int64_t(message.peer()) - turn.turn, message.ring(),
                           message.offset(), *byteCount(message.type()));
    std::set<uint32_t> &turns = seen[place];
    if (!turns.insert(turn.turn).second)
      return bad("message ", message.id(), " '", message.name(),
                 "': another of role ", message.peer(), " lies there");
    return turns.size() == 1;
  }

private:
  const plan::Manifest &manifest;
  std::map<std::tuple<int64_t, uint32_t, uint64_t, uint64_t>,
           std::set<uint32_t>>
      seen;
};

Status verifyMessages(const plan::Manifest &manifest, const plan::Role &role) {
  std::vector<std::vector<const plan::Message *>> ofRings(
      size_t(role.rings_size()));
  ReplicaMessages replicas(manifest);
  for (const plan::Message &message : role.messages()) {
    const std::string who =
        strCat("message ", message.id(), " '", message.name(), "'");
    if (Status status =
            verifyPlace(role, message.ring(), message.offset(), message.type());
        !status.ok())
      return status.withContext(who);
    if (role.rings(int(message.ring())).offloaded())
      return bad(who, ": it lies in a ring in the second memory");
    if (message.eval() && message.gradient())
      return bad(who, ": it is a gradient of an evaluation");
    ZC_ASSIGN_OR_RETURN(const bool isFirst, replicas.isFirst(message));
    if (isFirst)
      ofRings[message.ring()].push_back(&message);
  }
  for (std::vector<const plan::Message *> &messages : ofRings) {
    std::sort(messages.begin(), messages.end(),
              [](auto *a, auto *b) { return a->offset() < b->offset(); });
    // The furthest end of any, and of a received one, of those before.
    const plan::Message *any = nullptr, *received = nullptr;
    auto end = [](const plan::Message *message) {
      return message->offset() + *byteCount(message->type());
    };
    for (const plan::Message *message : messages) {
      if (any && !message->sends())
        ZC_RETURN_IF_ERROR(verifyOverlap(*any, *message));
      if (received)
        ZC_RETURN_IF_ERROR(verifyOverlap(*received, *message));
      if (!any || end(message) > end(any))
        any = message;
      if (!message->sends() && (!received || end(message) > end(received)))
        received = message;
    }
  }
  return Status();
}

/// The phases that use each ring: bit 0 training, bit 1 evaluation.
std::vector<uint32_t> phasesOfRings(const plan::Role &role,
                                    const RoleUse &use) {
  std::vector<uint32_t> phases(size_t(role.rings_size()));
  for (int i = 0; i < role.programs_size(); ++i)
    for (uint32_t ring : use.program(uint32_t(i)).rings)
      phases[ring] |= use.program(uint32_t(i)).parts == kEvalPart ? 2 : 1;
  for (const plan::Message &message : role.messages())
    phases[message.ring()] |= message.eval() ? 2 : 1;
  return phases;
}

Status verifyRingsDisjoint(const plan::Role &role, const RoleUse &use) {
  const std::vector<uint32_t> phases = phasesOfRings(role, use);
  for (uint32_t phase : {1u, 2u}) {
    std::vector<const plan::Ring *> rings;
    for (int i = 0; i < role.rings_size(); ++i)
      if ((phases[i] & phase) && role.rings(i).slots() > 0 &&
          role.rings(i).slot_bytes() > 0)
        rings.push_back(&role.rings(i));
    std::sort(rings.begin(), rings.end(), [](auto *a, auto *b) {
      return std::pair(a->offloaded(), a->offset()) <
             std::pair(b->offloaded(), b->offset());
    });
    for (size_t i = 1; i < rings.size(); ++i)
      if (rings[i - 1]->offloaded() == rings[i]->offloaded() &&
          rings[i - 1]->offset() +
                  rings[i - 1]->slot_bytes() * rings[i - 1]->slots() >
              rings[i]->offset())
        return bad("rings '", rings[i - 1]->name(), "' and '", rings[i]->name(),
                   "' overlap");
  }
  return Status();
}

} // namespace

Status verifyFlight(const plan::Manifest &manifest, uint32_t index,
                    const RoleUse &use) {
  const plan::Role &role = manifest.roles(int(index));
  const std::string who = strCat("role ", index);
  for (uint64_t bytes : {role.flight_bytes(), role.offloaded_flight_bytes()})
    if (bytes > kMaxFlight)
      return bad(who, ": its flight space has ", bytes, " bytes");
  for (int i = 0; i < role.rings_size(); ++i)
    if (Status status = verifyRing(role.rings(i), role); !status.ok())
      return status.withContext(
          strCat(who, ", ring ", i, " '", role.rings(i).name(), "'"));
  for (int i = 0; i < role.programs_size(); ++i)
    if (Status status =
            verifyBuffers(role, role.programs(i), use.program(uint32_t(i)));
        !status.ok())
      return status.withContext(
          strCat(who, ", program '", role.programs(i).name(), "'"));
  if (Status status = verifyMessages(manifest, role); !status.ok())
    return status.withContext(who);
  if (Status status = verifyRingsDisjoint(role, use); !status.ok())
    return status.withContext(who);
  return Status();
}

} // namespace zc
