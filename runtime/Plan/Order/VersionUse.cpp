#include "runtime/Plan/Order/VersionUse.h"
#include "runtime/Plan/StateVersions.h"
#include "runtime/Plan/Types.h"

#include <algorithm>
#include <map>

namespace zc {

VersionUse versionUseOf(const plan::Role &role, const plan::Program &program) {
  std::map<uint64_t, uint64_t> inPlace; // begin to end
  for (const plan::State &state : role.states())
    if ((state.kind() == plan::PARAMETER || state.kind() == plan::COPY) &&
        !hasVersions(state) && !state.offloaded())
      inPlace[state.offset()] = state.offset() + *byteCount(state.type());
  VersionUse use;
  for (const plan::Buffer &buffer : program.buffers()) {
    if (buffer.space() != plan::PERSISTENT)
      continue;
    if (buffer.versioned()) {
      use.ages.insert(buffer.age());
      continue;
    }
    auto after = inPlace.upper_bound(buffer.offset());
    use.inPlace |=
        after != inPlace.begin() && buffer.offset() < std::prev(after)->second;
  }
  return use;
}

Status verifyVersionUse(const VersionUse &use, int64_t step, int64_t applied,
                        int64_t versions) {
  constexpr const char *kWhy =
      ", so that the micro-batch's forward and backward would read different "
      "versions";
  if (use.inPlace && applied != step)
    return makeError(StatusCode::Corrupt, "it reads parameters of which there ",
                     "is one version, in step ", step, " behind ", applied,
                     " updates", kWhy);
  for (int64_t age : use.ages) {
    const int64_t version = std::max<int64_t>(0, step - age);
    if (version > applied)
      return makeError(StatusCode::Corrupt, "it reads version ", version,
                       " of parameters behind ", applied, " updates", kWhy);
    if (applied - (step - age) >= versions)
      return makeError(StatusCode::Corrupt, "it reads version ", step - age,
                       " of parameters behind ", applied, " updates, of which ",
                       versions, " are kept", kWhy);
  }
  return Status();
}

} // namespace zc
