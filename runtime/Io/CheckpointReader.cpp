#include "runtime/Base/File.h"
#include "runtime/Base/Hash.h"
#include "runtime/Io/Checkpoint.h"
#include "runtime/Io/CheckpointFormat.h"
#include "runtime/Io/Scalars.h"
#include "runtime/Io/TensorFiles.h"
#include "runtime/Plan/AmaxHistory.h"
#include "runtime/Plan/FloatBytes.h"
#include "runtime/Plan/FrozenNames.h"
#include "runtime/Plan/Safetensors.h"
#include "runtime/Plan/Types.h"

#include <algorithm>
#include <map>
#include <set>

namespace zc {

using namespace checkpoint;

static constexpr const char *kSeal = "xxh64";

static std::string print(const Json &json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// In sixteen digits, as in the tensor files.
static std::string hashOf(const Json &json) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx",
                static_cast<unsigned long long>(hashBytes(print(json))));
  return text;
}

std::string checkpoint::seal(Json json) {
  // Texts that are no UTF-8 are replaced when they are written.
  json = Json::parse(print(json));
  json[kSeal] = hashOf(json);
  return print(json);
}

Status checkpoint::checkSeal(const std::string &path, Json json) {
  if (!json.contains(kSeal))
    return Status();
  Json kept = json[kSeal];
  json.erase(kSeal);
  if (kept == hashOf(json))
    return Status();
  return makeError(StatusCode::Corrupt, "'", path,
                   "' is damaged: its checksum does not match. Take another "
                   "checkpoint; or, if you changed it yourself, delete its "
                   "line \"",
                   kSeal, "\"");
}

Json checkpoint::textsToJson(const NamedTexts &texts) {
  Json json = Json::object();
  for (const auto &[name, text] : texts) {
    Json value = Json::parse(text, nullptr, false);
    // Only where it reads back as it was written.
    bool isPlain =
        (value.is_number() || value.is_boolean()) && value.dump() == text;
    json[name] = isPlain ? value : Json(text);
  }
  return json;
}

NamedTexts checkpoint::textsFromJson(const Json &json) {
  NamedTexts texts;
  if (json.is_object())
    for (const auto &[name, value] : json.items())
      texts.emplace_back(name, value.is_string()
                                   ? value.template get<std::string>()
                                   : value.dump());
  return texts;
}

namespace {

bool hasDims(const SafetensorsTensor &found, const plan::TensorType &type) {
  return std::equal(found.dims.begin(), found.dims.end(), type.dims().begin(),
                    type.dims().end());
}

Status clearState(Executor &executor, const plan::State &state) {
  ZC_ASSIGN_OR_RETURN(const uint64_t bytes, byteCount(state.type()));
  const std::string zeros(std::min<uint64_t>(bytes, 1 << 20), '\0');
  for (uint64_t at = 0; at < bytes; at += zeros.size())
    ZC_RETURN_IF_ERROR(executor.writeState(
        state, at, zeros.data(), std::min<uint64_t>(zeros.size(), bytes - at)));
  return Status();
}

/// This rank's part of a whole tensor.
Status loadTensor(Executor &executor, const std::string &folder,
                  const FileTensor &wanted, const SafetensorsTensor *found) {
  if (!found)
    return makeError(StatusCode::InvalidArgument, "checkpoint '", folder,
                     "' lacks '", wanted.name(),
                     wanted.state->kind() == plan::OPTIMIZER
                         ? "'; it is of another optimizer; begin anew from "
                           "its weights with --init-from"
                         : "'; it is of another model");
  const plan::DataType type = wanted.type.dtype();
  const plan::DataType stored = dataTypeOf(found->dtype);
  if ((stored != type && !canConvertFloats(stored, type)) ||
      !hasDims(*found, wanted.type))
    return makeError(StatusCode::InvalidArgument, "checkpoint '", folder,
                     "': '", wanted.name(), "' is ", found->dtype, " ",
                     printDims(found->dims), "; expected ",
                     printType(wanted.type));
  const uint64_t size = elementBytes(type), width = elementBytes(stored);
  for (const TensorRun &run :
       wanted.runs(executor.mesh(), executor.world().rank())) {
    std::string_view part =
        found->data.substr(run.whole * width, run.count * width);
    const std::string converted =
        stored == type ? std::string() : convertFloats(part, stored, type);
    std::string_view bytes = stored == type ? part : converted;
    ZC_RETURN_IF_ERROR(executor.writeState(*wanted.state, run.state * size,
                                           bytes.data(), bytes.size(),
                                           wanted.age));
  }
  return Status();
}

/// The versions that the files have of a tensor are those that steps will read.
Status checkVersions(const std::string &folder, const TensorFiles &files,
                     const FileTensor &tensor) {
  const uint32_t wanted = tensor.state->delay();
  uint32_t found = 0;
  while (files.find(versionName(tensor.name(), found + 1)))
    ++found;
  if (found == wanted)
    return Status();
  return makeError(
      StatusCode::InvalidArgument, "checkpoint '", folder,
      "' is of a schedule ", "that applies gradients of '", tensor.name(),
      "' taken ", found, found == 1 ? " step" : " steps",
      " before, this artifact's ", wanted,
      "; go on with the same --schedule, or begin anew from its weights with "
      "--init-from");
}

/// Refuses trained tensors that would be lost: where this artifact computes
/// with its model file's values, or the next checkpoint would leave them out.
Status checkNothingIsLost(const Executor &executor, const std::string &folder,
                          CheckpointPart part) {
  ZC_ASSIGN_OR_RETURN(TensorFiles files, TensorFiles::open(folder, kModel));
  const plan::Manifest &manifest = executor.artifact().manifest();
  std::set<std::string> known;
  for (const plan::Role &role : manifest.roles())
    for (const plan::State &state : role.states())
      if (isModelState(state))
        for (const FileTensor &tensor : fileTensorsOf(state))
          known.insert(tensor.name());
  ZC_ASSIGN_OR_RETURN(const std::set<std::string> frozen,
                      readFrozenNames(executor.artifact().archive()));
  std::string first;
  size_t count = 0;
  for (const auto &[name, tensor] : files.all())
    if (!known.count(name) &&
        (part == CheckpointPart::Everything || frozen.count(name)))
      first = count++ ? first : name;
  if (count == 0)
    return Status();
  const std::string others =
      count > 1 ? strCat(" and ", count - 1, " more") : "";
  return makeError(
      StatusCode::InvalidArgument, "checkpoint '", folder, "' holds '", first,
      "'", others, ", which ", count > 1 ? "were" : "was",
      " trained there; this artifact ",
      frozen.count(first) ? "freezes it and would compute with the values of "
                            "its model file"
                          : "has no such parameter",
      "; export the checkpoint with the artifact that trained it, and compile "
      "the exported model");
}

/// `isPartial`: set where states that each rank keeps for itself were of
/// others.
Status loadGroup(Executor &executor, const std::string &folder,
                 const Group &group, bool &isPartial) {
  ZC_ASSIGN_OR_RETURN(TensorFiles files,
                      TensorFiles::open(folder, group, &executor.world()));
  for (const plan::State &state : executor.artifact().role().states()) {
    const bool isRead = state.kind() == plan::PARAMETER || hasVersions(state);
    for (const FileTensor &tensor : fileTensorsOf(state))
      if (isRead && group.tensorsOf == optimizerTensorsOf)
        ZC_RETURN_IF_ERROR(checkVersions(folder, files, tensor));
    for (const FileTensor &tensor : group.tensorsOf(state)) {
      const SafetensorsTensor *found = files.find(tensor.name());
      if (state.per_rank() && found && !hasDims(*found, tensor.type)) {
        isPartial = true;
        ZC_RETURN_IF_ERROR(clearState(executor, state));
        continue;
      }
      // A checkpoint of another precision, or of more steps, has no such one:
      // it begins as in a new run.
      if (isAmaxHistory(state) && (!found || !hasDims(*found, tensor.type))) {
        ZC_RETURN_IF_ERROR(clearState(executor, state));
        continue;
      }
      ZC_RETURN_IF_ERROR(loadTensor(executor, folder, tensor, found));
    }
  }
  return Status();
}

/// Whether a run with `zc compile --ema` has written these tensors.
bool holdAverages(const TensorFiles &files) {
  const std::string suffix = std::string(".") + kAverageSlot;
  for (const auto &[name, tensor] : files.all())
    if (name.size() > suffix.size() &&
        name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0)
      return true;
  return false;
}

/// The moving average of each parameter in its place.
Status loadAverages(Executor &executor, const std::string &folder) {
  ZC_ASSIGN_OR_RETURN(TensorFiles files,
                      TensorFiles::open(folder, kOptimizer, &executor.world()));
  if (!holdAverages(files))
    return makeError(StatusCode::InvalidArgument, "--ema: checkpoint '", folder,
                     "' holds no moving averages; zc compile --ema DECAY keeps "
                     "them");
  for (const plan::State &state : executor.artifact().role().states())
    if (state.kind() == plan::PARAMETER)
      for (const FileTensor &tensor : fileTensorsOf(state))
        ZC_RETURN_IF_ERROR(
            loadTensor(executor, folder, tensor,
                       files.find(slotName(tensor.name(), kAverageSlot))));
  return Status();
}

Status loadScalars(Executor &executor, const std::string &path,
                   const Json &json) {
  const auto &states = executor.artifact().role().states();
  const bool adapts =
      std::any_of(states.begin(), states.end(), [](const plan::State &state) {
        return state.name() == "loss_scale.good_steps";
      });
  for (const plan::State &state : states) {
    if (state.kind() != plan::SCALAR || isCoordinate(state) || isSetting(state))
      continue;
    // One that stays is what the artifact says.
    if (state.name() == "loss_scale" && !adapts)
      continue;
    bool has = json.contains("scalars") && json["scalars"].is_object() &&
               json["scalars"].contains(state.name());
    // A checkpoint of another precision has none: it begins as in a new run.
    if (!has && state.name().rfind("loss_scale", 0) == 0)
      continue;
    if (!has)
      return makeError(StatusCode::InvalidArgument, "'", path,
                       "' lacks the scalar '", state.name(), "'");
    auto bytes = scalarFromJson(state, json["scalars"][state.name()]);
    if (!bytes.ok())
      return bytes.status().withContext("'" + path + "'");
    ZC_RETURN_IF_ERROR(
        executor.writeState(state, 0, bytes->data(), bytes->size()));
  }
  return Status();
}

Result<TrainState> parseTrainState(const std::string &path, const Json &json) {
  auto isCount = [&](const char *key) {
    return json.contains(key) && json[key].is_number_unsigned() &&
           json[key].get<uint64_t>() <= uint64_t(INT64_MAX);
  };
  if (!json.contains("format") || json["format"] != kFormat)
    return makeError(StatusCode::Unsupported, "'", path,
                     "' is of another format version; expected ", kFormat);
  bool sound = isCount("step") && isCount("batch") && isCount("samples") &&
               json.contains("seed") && json["seed"].is_number_unsigned() &&
               json.contains("shuffle") && json["shuffle"].is_boolean();
  if (!sound)
    return makeError(StatusCode::Corrupt, "'", path, "' is damaged");
  ZC_RETURN_IF_ERROR(checkSeal(path, json));
  TrainState state;
  state.step = json["step"].get<int64_t>();
  state.seed = json["seed"].get<uint64_t>();
  state.shuffle = json["shuffle"].get<bool>();
  state.batch = json["batch"].get<int64_t>();
  state.samples = json["samples"].get<int64_t>();
  state.options = textsFromJson(json.value("options", Json()));
  state.compiled = textsFromJson(json.value("compiled", Json()));
  for (auto &[key, way] : textsFromJson(json.value("ways", Json())))
    state.ways.emplace(std::move(key), std::move(way));
  return state;
}

} // namespace

Result<TrainState> readTrainState(const std::string &path) {
  std::string statePath = path + "/" + kTrainState;
  ZC_ASSIGN_OR_RETURN(Json json, readJson(statePath));
  return parseTrainState(statePath, json);
}

Result<TrainState> loadCheckpoint(Executor &executor, const std::string &path,
                                  CheckpointPart part) {
  std::string statePath = path + "/" + kTrainState;
  ZC_ASSIGN_OR_RETURN(Json json, readJson(statePath));
  ZC_ASSIGN_OR_RETURN(TrainState state, parseTrainState(statePath, json));
  ZC_RETURN_IF_ERROR(checkNothingIsLost(executor, path, part));
  executor.setStepsDone(state.step);
  ZC_RETURN_IF_ERROR(loadGroup(executor, path, kModel, state.isPartial));
  if (part == CheckpointPart::Averages)
    ZC_RETURN_IF_ERROR(loadAverages(executor, path));
  if (part != CheckpointPart::Everything)
    return state;
  ZC_RETURN_IF_ERROR(loadGroup(executor, path, kOptimizer, state.isPartial));
  ZC_RETURN_IF_ERROR(loadScalars(executor, statePath, json));
  return state;
}

} // namespace zc
