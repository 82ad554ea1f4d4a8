#include "runtime/Plan/FileTensor.h"
#include "runtime/Plan/Order/VerifyOrders.h"
#include "runtime/Plan/Types.h"
#include "runtime/Plan/Verify.h"

#include <map>

namespace zc {
namespace {

template <typename... Parts> Status bad(const Parts &...parts) {
  return makeError(StatusCode::Corrupt, parts...);
}

/// Whether files hold the state: then all its holders must have it alike.
bool isOfFiles(const plan::State &state) {
  return state.kind() != plan::ACCUMULATOR && state.kind() != plan::COPY &&
         state.kind() != plan::GATHERED && !isCoordinate(state);
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

/// A state that several roles hold is one tensor, which files have once.
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

} // namespace

Status verifyRolesFit(const plan::Manifest &manifest) {
  ZC_RETURN_IF_ERROR(verifyTiedStates(manifest));
  return verifyOrders(manifest);
}

} // namespace zc
