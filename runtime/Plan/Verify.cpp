#include "runtime/Plan/Verify.h"
#include "runtime/Plan/FileTensor.h"
#include "runtime/Plan/ProgramNames.h"
#include "runtime/Plan/StateVersions.h"
#include "runtime/Plan/Types.h"

#include <algorithm>
#include <set>

namespace zc {
namespace {

// More than any machine has; keeps sums of sizes far from overflow.
constexpr uint64_t kMaxRegion = uint64_t(1) << 48;
constexpr uint32_t kMaxThreads = 4096;

template <typename... Parts> Status bad(const Parts &...parts) {
  return makeError(StatusCode::Corrupt, "the manifest is damaged: ", parts...);
}

Status verifyTarget(const plan::Target &target) {
  if (target.device().empty())
    return bad("it names no device");
  if (target.threads() < 1 || target.threads() > kMaxThreads)
    return bad("it is for ", target.threads(), " threads");
  std::set<std::string> entries;
  for (const auto *list : {&target.code(), &target.host_code()})
    for (const plan::CodeObject &code : *list)
      if (code.entry().empty() || !entries.insert(code.entry()).second)
        return bad("code object '", code.entry(),
                   "' is unnamed or listed twice");
  return Status();
}

} // namespace

Status verifySourceType(const plan::WeightSource &source,
                        const plan::TensorType &type) {
  const bool widens =
      (source.dtype() == plan::F16 || source.dtype() == plan::BF16) &&
      type.dtype() == plan::F32;
  if (source.dtype() == plan::DATA_TYPE_UNSPECIFIED || widens)
    return Status();
  return makeError(StatusCode::Corrupt, "begins as ", typeName(source.dtype()),
                   ", but is ", printType(type));
}

namespace {

Status verifyState(const plan::State &state, const plan::Role &role,
                   const Mesh &mesh) {
  if (state.name().empty())
    return bad("a state has no name");
  const std::string who = "state '" + state.name() + "'";
  if (!plan::StateKind_IsValid(state.kind()) ||
      state.kind() == plan::STATE_KIND_UNSPECIFIED)
    return bad(who, " is of no kind");
  Result<uint64_t> bytes = byteCount(state.type());
  if (!bytes.ok())
    return bad(who, " is ", bytes.status().message());
  if (state.offset() % kBufferAlignment != 0)
    return bad(who, " begins at ", state.offset(), ", not a multiple of ",
               kBufferAlignment);
  const uint64_t region =
      state.offloaded() ? role.offloaded_bytes() : role.persistent_bytes();
  if (state.offset() > region || *bytes > region - state.offset())
    return bad(who, " lies outside of its region");
  if (state.onnx_names_size() > 0 && state.onnx_names(0) != state.name())
    return bad(who, " has another ONNX name, '", state.onnx_names(0), "'");
  if (state.has_source() && state.source().key().empty())
    return bad(who, " has a source without a key");
  if (Status status = verifySourceType(state.source(), state.type());
      !status.ok())
    return bad(who, " ", status.message());
  if (state.kind() == plan::OPTIMIZER &&
      ((state.parameter().empty() && state.members_size() == 0) ||
       state.slot().empty()))
    return bad(who, " does not say whose optimizer state it is");
  if (Status status = verifyStateSharding(state, mesh); !status.ok())
    return status.code() == StatusCode::Corrupt
               ? bad(who, ": ", status.message())
               : status.withContext(who);
  // Files hold whole tensors, however many ranks share them.
  if (state.has_source() && !state.source().file().empty())
    if (uint64_t whole = *byteCount(fileTensorsOf(state).front().storedType());
        state.source().length() != whole)
      return bad(who, " takes ", whole, " bytes, but ", state.source().length(),
                 " of '", state.source().file(), "' are its own");
  if (state.per_rank() && state.kind() != plan::OPTIMIZER)
    return bad(who, " is kept by each rank and no optimizer's");
  if (state.name() == "lr" && state.kind() == plan::SCALAR &&
      (state.type().dtype() != plan::F32 || *bytes != 4))
    return bad(who, " is ", printType(state.type()), ", not one float32");
  if (state.name() == "seed" && state.kind() == plan::SCALAR &&
      (state.type().dtype() != plan::I64 || *bytes != 8))
    return bad(who, " is ", printType(state.type()), ", not one int64");
  if (isSetting(state) && (state.type().dtype() != plan::F64 || *bytes != 8))
    return bad(who, " is ", printType(state.type()), ", not one float64");
  return Status();
}

/// No two states may share bytes, but for units of which one is gathered where
/// another was: orders have to say when.
Status verifyStatesDisjoint(const plan::Role &role) {
  std::vector<const plan::State *> states;
  for (const plan::State &state : role.states())
    if (*byteCount(state.type()) > 0)
      states.push_back(&state);
  std::sort(states.begin(), states.end(), [](auto *a, auto *b) {
    return std::pair(a->offloaded(), a->offset()) <
           std::pair(b->offloaded(), b->offset());
  });
  auto end = [](const plan::State *state) {
    return state->offset() + *byteCount(state->type());
  };
  // The earlier states, of either kind, that end last.
  const plan::State *unit = nullptr, *other = nullptr;
  for (const plan::State *state : states) {
    const bool isUnit = state->kind() == plan::GATHERED;
    for (const plan::State *before : {unit, other})
      if (before && before->offloaded() == state->offloaded() &&
          !(isUnit && before == unit) && end(before) > state->offset())
        return bad("states '", before->name(), "' and '", state->name(),
                   "' overlap");
    const plan::State *&last = isUnit ? unit : other;
    if (!last || last->offloaded() != state->offloaded() ||
        end(state) > end(last))
      last = state;
  }
  return Status();
}

Status verifyStates(const plan::Role &role, const Mesh &mesh) {
  if (role.persistent_bytes() > kMaxRegion)
    return bad("the persistent region has ", role.persistent_bytes(), " bytes");
  if (role.offloaded_bytes() > kMaxRegion)
    return bad("the offloaded region has ", role.offloaded_bytes(), " bytes");
  std::set<std::string> names;
  for (const plan::State &state : role.states()) {
    ZC_RETURN_IF_ERROR(verifyState(state, role, mesh));
    if (!names.insert(state.name()).second)
      return bad("two states are named '", state.name(), "'");
    for (const plan::UnitMember &member : state.members())
      if (member.name().empty() || !names.insert(member.name()).second)
        return bad("two states are named '", member.name(), "'");
  }
  return verifyStatesDisjoint(role);
}

bool isCopy(const plan::State &state) { return state.kind() == plan::COPY; }

/// Whether some state has no initial value in a file. The run writes its seed.
bool isDrawn(const plan::State &state) {
  if (state.name() == "seed" && state.kind() == plan::SCALAR)
    return false;
  std::vector<FileTensor> tensors = fileTensorsOf(state);
  return !isCoordinate(state) && !isCopy(state) &&
         state.kind() != plan::GATHERED &&
         std::any_of(tensors.begin(), tensors.end(),
                     [](const FileTensor &tensor) { return !tensor.source(); });
}

Status verifyPrograms(const plan::Role &role, const Mesh &mesh) {
  std::set<std::string> names;
  for (const plan::Program &program : role.programs()) {
    if (program.name().empty() || !names.insert(program.name()).second)
      return bad("a program is unnamed or there are two '", program.name(),
                 "'");
    if (program.transient_bytes() > kMaxRegion)
      return bad("program '", program.name(), "' needs ",
                 program.transient_bytes(), " transient bytes");
    if (Status status = verifyProgram(program, role, mesh); !status.ok())
      return bad("program '", program.name(), "': ", status.message());
  }
  bool drawn = std::any_of(role.states().begin(), role.states().end(), isDrawn);
  if (drawn && !names.count(programs::kInit))
    return bad("some states have no initial value and there is no program '",
               programs::kInit, "'");
  bool copies = std::any_of(role.states().begin(), role.states().end(), isCopy);
  if (copies && !names.count(programs::kCopy))
    return bad("parameters have copies and there is no program '",
               programs::kCopy, "'");
  return Status();
}

Status verifyRole(const plan::Role &role, const Mesh &mesh) {
  ZC_RETURN_IF_ERROR(verifyStates(role, mesh));
  ZC_RETURN_IF_ERROR(verifyPrograms(role, mesh));
  if (Status status = verifyVersions(role); !status.ok())
    return bad(status.message());
  return Status();
}

Status verifyRoles(const plan::Manifest &manifest, const Mesh &mesh) {
  const int64_t planned = mesh.roles();
  if (planned != manifest.roles_size())
    return bad("it has ", manifest.roles_size(), " roles for ", planned);
  for (int i = 0; i < manifest.roles_size(); ++i)
    if (Status status = verifyRole(manifest.roles(i), mesh); !status.ok())
      return planned == 1 ? status : status.withContext(strCat("role ", i));
  if (Status status = verifyRolesFit(manifest); !status.ok())
    return bad(status.message());
  if (Status status = verifyRoleCollectives(manifest); !status.ok())
    return bad(status.message());
  return Status();
}

} // namespace

Status verifyManifest(const plan::Manifest &manifest) {
  if (manifest.format_version() != kFormatVersion)
    return makeError(StatusCode::Unsupported, "artifact of format version ",
                     manifest.format_version(), "; this program reads version ",
                     kFormatVersion, "; compile the model again");
  if (manifest.mode() != "train" && manifest.mode() != "infer")
    return bad("its mode is '", manifest.mode(), "'");
  if (manifest.batch() < 0)
    return bad("its batch is ", manifest.batch());
  if (manifest.accumulate() < 0 || manifest.accumulate() > (1 << 20))
    return bad("a step has ", manifest.accumulate(), " micro-batches");
  if (manifest.freeze_step() < 0)
    return bad("its variance is frozen at step ", manifest.freeze_step());
  ZC_RETURN_IF_ERROR(verifyTarget(manifest.target()));
  Result<Mesh> mesh = Mesh::of(manifest);
  if (!mesh.ok())
    return bad(mesh.status().message());
  return verifyRoles(manifest, *mesh);
}

} // namespace zc
