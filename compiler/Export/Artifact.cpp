//===- Artifact.cpp - from instructions to one file -----------------------===//
#include "compiler/Export/Artifact.h"
#include "compiler/Export/ImproveOrders.h"

#include "compiler/Export/ExportTypes.h"
#include "compiler/Export/ProgramExport.h"
#include "compiler/Export/RingExport.h"
#include "compiler/Export/WeightReferences.h"
#include "compiler/Export/WeightsWriter.h"
#include "dialects/Train/Gathered.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/Versions.h"
#include "passes/Analysis/ProgramParts.h"
#include "passes/Analysis/Roles.h"
#include "runtime/Plan/Artifact.h"
#include "runtime/Plan/FrozenNames.h"
#include "runtime/Plan/Order/BuildOrders.h"
#include "runtime/Plan/Verify.h"

#include "llvm/ADT/StringSet.h"
#include <algorithm>
#include <set>

using namespace mlir;

namespace zc {

static plan::StateKind getStateKind(train::StateKind kind) {
  switch (kind) {
  case train::kParameter:
    return plan::PARAMETER;
  case train::kStatistic:
    return plan::STATISTIC;
  case train::kOptimizer:
    return plan::OPTIMIZER;
  case train::kScalar:
    return plan::SCALAR;
  case train::kAccumulator:
    return plan::ACCUMULATOR;
  case train::kCopy:
    return plan::COPY;
  case train::kGathered:
    return plan::GATHERED;
  case train::kConstant:
  case train::kFlight: // of a ring, which is exported elsewhere
    return plan::CONSTANT;
  }
  llvm_unreachable("kinds are verified");
}

// Constants that zc folded are no initializers of the model; parameters and
// statistics are what `zc export` writes back.
static void addOnnxNames(train::StateOp op, plan::State &state) {
  bool trained =
      op.getKind() == train::kParameter || op.getKind() == train::kStatistic;
  if (!trained && !op.getAliases())
    return;
  state.add_onnx_names(state.name());
  if (op.getAliases())
    for (StringRef alias : op.getAliases()->getAsValueRange<StringAttr>())
      state.add_onnx_names(alias.str());
}

/// If other axes shard a unit's members, the schema describes one share: the
/// members name these axes, the unit those that divide the share.
static void keepOwnAxes(plan::State &unit, dist::MeshAttr mesh) {
  std::set<std::string> shared;
  for (const plan::DimSharding &dim : unit.members(0).sharding().dims())
    shared.insert(dim.axes().begin(), dim.axes().end());
  if (shared.empty())
    return;
  plan::DimSharding own;
  int64_t length = unit.whole_dims(0);
  for (const std::string &axis : unit.sharding().dims(0).axes())
    if (shared.count(axis))
      length /= mesh.getSizes()[mesh.findAxis(axis)];
    else
      own.add_axes(axis);
  unit.clear_whole_dims();
  unit.clear_sharding();
  if (own.axes_size() == 0)
    return; // every rank has all of its share
  unit.add_whole_dims(length);
  *unit.mutable_sharding()->add_dims() = own;
}

/// Files know the members: parameters, and the moments of parameters, which may
/// have another element type.
static void addMembers(train::StateOp op, plan::State &state) {
  bool isMoment = op.getKind() == train::kOptimizer && op.getParameter();
  StringRef unit = isMoment ? *op.getParameter() : op.getSymName();
  auto members = dist::getUnitMembers(op->getParentOfType<ModuleOp>(), unit);
  for (train::StateOp member : members) {
    plan::UnitMember &message = *state.add_members();
    std::string name = member.getSymName().str();
    *message.mutable_type() = getTensorType(train::withElementType(
        member.getWholeType(), op.getTensorType().getElementType()));
    message.set_offset(*member.getUnitOffset());
    if (auto sharding =
            member->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr))
      *message.mutable_sharding() = getSharding(sharding);
    addBlocks(member, *message.mutable_sharding());
    if (isMoment) {
      message.set_name("state." + name + "." + op.getSlot()->str());
      message.set_parameter(name);
      continue;
    }
    message.set_name(name);
    if (member.hasInitialValue())
      setSource(member, *message.mutable_source());
    plan::State names;
    names.set_name(name);
    addOnnxNames(member, names);
    *message.mutable_onnx_names() = names.onnx_names();
  }
  if (members.empty())
    return;
  state.clear_onnx_names();
  keepOwnAxes(state, dist::getMesh(op));
}

static Status addState(train::StateOp op, plan::Role &role) {
  plan::State &state = *role.add_states();
  state.set_name(op.getSymName().str());
  if (!op.getOffset())
    return makeError(StatusCode::Internal, "state '", state.name(),
                     "' has no offset");
  state.set_offset(*op.getOffset());
  state.set_kind(getStateKind(op.getKind()));
  *state.mutable_type() = getTensorType(op.getTensorType());
  if (op.hasInitialValue())
    setSource(op, *state.mutable_source());
  if (op.getParameter())
    state.set_parameter(op.getParameter()->str());
  if (op.getSlot())
    state.set_slot(op.getSlot()->str());
  state.set_per_rank(op.getPerRank());
  addOnnxNames(op, state);
  state.set_offloaded(op.getOffloaded());
  state.set_delay(uint32_t(train::getDelay(op)));
  setDivision(op, state);
  addMembers(op, state);
  return Status();
}

static std::string getEntryName(const CodeInput &code) {
  return "code/" + code.arch + "." + code.suffix;
}

static void describeCode(const CodeInput &code, plan::CodeObject &object) {
  object.set_entry(getEntryName(code));
  object.set_arch(code.arch);
  for (const std::string &feature : code.features)
    object.add_features(feature);
}

static void addMetadata(const ExportInput &input, plan::Manifest &manifest) {
  manifest.set_format_version(kFormatVersion);
  manifest.set_zc_version(input.zcVersion);
  manifest.set_mode(input.mode);
  manifest.set_model_name(input.modelName);
  manifest.set_batch(input.batch);
  manifest.set_accumulate(input.accumulate);
  manifest.set_freeze_step(input.freezeStep);
  manifest.set_loss(input.loss);
  manifest.set_optimizer(input.optimizer);
  for (const auto &[name, value] : input.settings) {
    plan::Setting &setting = *manifest.add_settings();
    setting.set_name(name);
    setting.set_value(value);
  }
  manifest.mutable_target()->set_device(input.device);
  manifest.mutable_target()->set_threads(input.threads);
  manifest.mutable_target()->set_libraries(input.libraries);
  manifest.mutable_target()->set_matmul_precision(input.matmulPrecision);
  for (const CodeInput &code : input.code)
    describeCode(code, *manifest.mutable_target()->add_code());
  for (const CodeInput &code : input.hostCode)
    describeCode(code, *manifest.mutable_target()->add_host_code());
}

static void addMesh(ModuleOp module, plan::Manifest &manifest) {
  dist::MeshAttr mesh = dist::getMesh(module);
  for (unsigned axis = 0; mesh && axis < mesh.getNumAxes(); ++axis) {
    plan::Setting &setting = *manifest.add_mesh();
    setting.set_name(mesh.getNames()[axis].str());
    setting.set_value(std::to_string(mesh.getSizes()[axis]));
  }
}

static void addDivisions(ModuleOp module, plan::Role &role) {
  auto divisions = module->getAttrOfType<ArrayAttr>(dist::kDivisionsAttr);
  if (!divisions)
    return;
  for (auto entry : divisions.getAsRange<DictionaryAttr>()) {
    plan::TensorDivision &message = *role.add_divisions();
    auto text = [&](StringRef key) {
      return entry.getAs<StringAttr>(key).str();
    };
    message.set_name(text(dist::kDivisionName));
    message.set_kind(text(dist::kDivisionKind));
    message.set_why(text(dist::kDivisionWhy));
    *message.mutable_type() = getTensorType(cast<ShapedType>(
        entry.getAs<TypeAttr>(dist::kDivisionType).getValue()));
    auto sharding = entry.getAs<dist::ShardingAttr>(dist::kDivisionSharding);
    *message.mutable_sharding() = getSharding(sharding);
    for (StringAttr axis : sharding.getUnreduced())
      message.add_unreduced(axis.str());
  }
}

/// Refuses, before writing, a manifest that the runtime would refuse.
static Status checkManifest(const plan::Manifest &manifest) {
  if (Status status = verifyManifest(manifest); !status.ok())
    return Status(StatusCode::Internal, status.message());
  return Status();
}

static Status addRole(ModuleOp module, bool needsCode, plan::Role &role) {
  auto bytes = module->getAttrOfType<IntegerAttr>(sched::kPersistentBytesAttr);
  if (!bytes)
    return makeError(StatusCode::Internal, "the states have no offsets");
  role.set_persistent_bytes(bytes.getInt());
  if (auto offloaded =
          module->getAttrOfType<IntegerAttr>(sched::kOffloadedBytesAttr))
    role.set_offloaded_bytes(offloaded.getInt());
  for (train::StateOp state : module.getOps<train::StateOp>())
    if (state.getKind() != train::kFlight && !train::isVersionOfOther(state))
      ZC_RETURN_IF_ERROR(addState(state, role));
  if (int64_t versioned = train::getCount(module, train::kVersionBytesAttr)) {
    role.set_versions(uint32_t(train::getCount(module, train::kVersionsAttr)));
    role.set_version_bytes(uint64_t(versioned));
  }
  role.set_reshard_every(getReshardEvery(module));
  addRingsAndMessages(module, role);
  addDivisions(module, role);
  SymbolTable symbols(module);
  for (sched::ProgramOp program : module.getOps<sched::ProgramOp>()) {
    ZC_ASSIGN_OR_RETURN(*role.add_programs(),
                        ProgramExport(program, symbols, needsCode).run());
  }
  return Status();
}

Result<plan::Manifest> buildManifest(const ExportInput &input) {
  plan::Manifest manifest;
  addMetadata(input, manifest);
  SmallVector<ModuleOp> roles = getRoles(input.module);
  // Each role has the whole mesh.
  addMesh(roles.front(), manifest);
  for (ModuleOp role : roles)
    ZC_RETURN_IF_ERROR(addRole(role, !input.plansOnly, *manifest.add_roles()));
  if (input.pipeline && input.pipeline->roleOfStage.size() != roles.size())
    for (int role = 0; role < manifest.roles_size(); ++role)
      for (uint32_t stage : input.pipeline->stagesOf(uint32_t(role)))
        manifest.mutable_roles(role)->add_stages(stage);
  nameMessages(manifest);
  numberLines(manifest);
  OrderOptions orders;
  orders.schedule = input.schedule;
  orders.given = input.pipeline;
  orders.microBatches = uint32_t(std::max<int64_t>(1, input.accumulate));
  ZC_RETURN_IF_ERROR(buildOrders(manifest, orders));
  if (input.improvesOrders && input.pipeline)
    ZC_RETURN_IF_ERROR(
        improveOrders(manifest, *input.pipeline, input.memoryBudget));
  ZC_RETURN_IF_ERROR(checkManifest(manifest));
  return manifest;
}

static Status writeWeights(const ExportInput &input, ZipWriter &zip) {
  ModuleOp module = input.module;
  WeightsWriter weights(input.modelFolder);
  // Members of units are states of a nested module; several roles may hold one
  // tensor.
  SmallVector<train::StateOp> states;
  llvm::StringSet<> seen;
  module.walk([&](train::StateOp state) {
    if (seen.insert(state.getSymName()).second)
      states.push_back(state);
  });
  for (train::StateOp state : states)
    if (state.hasInitialValue() && !isReferenced(input, state))
      ZC_RETURN_IF_ERROR(weights.add(state));
  for (const StoredTensor &tensor : input.tensors)
    if (!isReferenced(input, tensor))
      ZC_RETURN_IF_ERROR(weights.add(tensor));
  return weights.write(zip);
}

Status writeArtifact(const ExportInput &input, const std::string &path) {
  ZC_ASSIGN_OR_RETURN(plan::Manifest manifest, buildManifest(input));
  ZC_RETURN_IF_ERROR(addReferences(input, path, manifest));
  ZC_RETURN_IF_ERROR(checkManifest(manifest));
  ZC_ASSIGN_OR_RETURN(ZipWriter zip, ZipWriter::create(path));
  std::string bytes;
  if (!manifest.SerializeToString(&bytes))
    return makeError(StatusCode::Unsupported,
                     "the manifest would be larger than 2 GiB");
  ZC_RETURN_IF_ERROR(zip.addBytes(kManifestEntry, bytes));
  for (const auto *list : {&input.code, &input.hostCode})
    for (const CodeInput &code : *list)
      ZC_RETURN_IF_ERROR(zip.addBytes(getEntryName(code), code.bytes));
  if (!input.model.empty())
    ZC_RETURN_IF_ERROR(zip.addBytes(kModelEntry, input.model));
  if (!input.frozen.empty())
    ZC_RETURN_IF_ERROR(
        zip.addBytes(kFrozenEntry, makeFrozenNames(input.frozen)));
  ZC_RETURN_IF_ERROR(writeWeights(input, zip));
  return zip.finish();
}

} // namespace zc
