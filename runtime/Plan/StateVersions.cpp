#include "runtime/Plan/StateVersions.h"
#include "runtime/Plan/Types.h"

#include <algorithm>

namespace zc {
namespace {

// More than any schedule of as many roles as machines have; keeps slots few.
constexpr uint32_t kMostVersions = 1 << 16;

template <typename... Parts> Status bad(const Parts &...parts) {
  return makeError(StatusCode::Corrupt, parts...);
}

/// Bytes `offset` to `offset` + `bytes` of the persistent region.
Status verifyPlace(const plan::Role &role, uint64_t begin, bool versioned,
                   uint64_t offset, uint64_t bytes) {
  const uint64_t end = begin + role.version_bytes();
  if (versioned && (offset < begin || offset + bytes > end))
    return bad("its bytes ", offset, " to ", offset, " + ", bytes,
               " are not all in the first slot of versions, ", begin, " to ",
               end);
  if (!versioned && bytes > 0 && offset + bytes > begin)
    return bad("its bytes ", offset, " to ", offset, " + ", bytes,
               " are among the versions, which begin at ", begin);
  return Status();
}

Status verifyState(const plan::Role &role, uint64_t begin,
                   const plan::State &state) {
  if (!hasVersions(state))
    return state.offloaded() ? Status()
                             : verifyPlace(role, begin, false, state.offset(),
                                           *byteCount(state.type()));
  if (state.kind() != plan::PARAMETER && state.kind() != plan::COPY)
    return bad("only parameters and their copies have versions");
  if (state.offloaded())
    return bad("it has versions and is offloaded");
  if (state.delay() >= role.versions())
    return bad("it is read ", state.delay(), " steps late, but there are ",
               role.versions(), " versions");
  return verifyPlace(role, begin, true, state.offset(),
                     *byteCount(state.type()));
}

Status verifyBuffer(const plan::Role &role, uint64_t begin,
                    const plan::Buffer &buffer) {
  if (buffer.versioned() && buffer.space() != plan::PERSISTENT)
    return bad("it has versions outside of the persistent region");
  if (buffer.versioned() &&
      (buffer.age() < -1 || buffer.age() >= int32_t(role.versions())))
    return bad("its version is ", buffer.age(), " steps old, of ",
               role.versions());
  if (buffer.space() != plan::PERSISTENT)
    return Status();
  return verifyPlace(role, begin, buffer.versioned(), buffer.offset(),
                     *byteCount(buffer.type()));
}

} // namespace

bool usesVersions(const plan::Program &program) {
  return std::any_of(
      program.buffers().begin(), program.buffers().end(),
      [](const plan::Buffer &buffer) { return buffer.versioned(); });
}

uint64_t versionOffset(const plan::Role &role, int64_t version) {
  const int64_t slots = role.versions();
  if (slots == 0)
    return 0;
  return uint64_t(((version % slots) + slots) % slots) * role.version_bytes();
}

Status verifyVersions(const plan::Role &role) {
  if (role.versions() > kMostVersions || role.version_bytes() % 64 != 0 ||
      (role.versions() > 0 &&
       role.version_bytes() > role.persistent_bytes() / role.versions()))
    return bad("it has ", role.versions(), " versions of ",
               role.version_bytes(), " bytes in ", role.persistent_bytes());
  const uint64_t begin =
      role.persistent_bytes() - role.versions() * role.version_bytes();
  for (const plan::State &state : role.states())
    if (Status status = verifyState(role, begin, state); !status.ok())
      return status.withContext("state '" + state.name() + "'");
  for (const plan::Program &program : role.programs())
    for (int i = 0; i < program.buffers_size(); ++i)
      if (Status status = verifyBuffer(role, begin, program.buffers(i));
          !status.ok())
        return status.withContext(
            strCat("program '", program.name(), "', buffer ", i));
  return Status();
}

} // namespace zc
