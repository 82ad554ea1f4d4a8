// Loads weights of another artifact or program that match by name and shape.
#include "runtime/Base/Bfloat16.h"
#include "runtime/Base/Float16.h"
#include "runtime/Io/Checkpoint.h"
#include "runtime/Io/Convert.h"
#include "runtime/Io/TensorFiles.h"
#include "runtime/Plan/FrozenNames.h"
#include "runtime/Plan/Types.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>

namespace zc {

using namespace checkpoint;

namespace {

Result<TensorFiles> openWeights(const std::string &path) {
  constexpr std::string_view kSuffix = ".safetensors";
  if (path.size() > kSuffix.size() &&
      path.compare(path.size() - kSuffix.size(), kSuffix.size(), kSuffix) == 0)
    return TensorFiles::openFile(path);
  std::error_code error;
  if (std::filesystem::is_regular_file(path, error))
    return makeError(StatusCode::InvalidArgument, "'", path,
                     "' is no file of weights; expected a checkpoint's folder "
                     "or a .safetensors file, as safetensors.torch.save_file "
                     "writes a model.state_dict()");
  ZC_ASSIGN_OR_RETURN(std::string folder, findCheckpoint(path));
  return TensorFiles::open(folder, kModel);
}

/// Under its own name, or that of a tensor that is tied to it.
const SafetensorsTensor *findTied(const TensorFiles &files,
                                  const FileTensor &tensor) {
  if (const SafetensorsTensor *found = files.find(tensor.name()))
    return found;
  const auto &names =
      tensor.member ? tensor.member->onnx_names() : tensor.state->onnx_names();
  for (const std::string &name : names)
    if (const SafetensorsTensor *found = files.find(name))
      return found;
  return nullptr;
}

/// Numbers of a floating-point type as float32 ones; nothing for other types.
std::optional<std::string> asFloats(const SafetensorsTensor &tensor) {
  const uint64_t size = safetensorsElementBytes(tensor.dtype);
  const int64_t count = size ? int64_t(tensor.data.size() / size) : 0;
  std::string floats(size_t(count) * sizeof(float), '\0');
  for (int64_t i = 0; i < count; ++i) {
    const char *from = tensor.data.data() + uint64_t(i) * size;
    float value;
    uint16_t half;
    double wide;
    if (tensor.dtype == "BF16") {
      std::memcpy(&half, from, sizeof(half));
      value = bfloat16ToFloat(half);
    } else if (tensor.dtype == "F16") {
      std::memcpy(&half, from, sizeof(half));
      value = halfToFloat(half);
    } else if (tensor.dtype == "F64") {
      std::memcpy(&wide, from, sizeof(wide));
      value = static_cast<float>(wide);
    } else {
      return std::nullopt;
    }
    std::memcpy(floats.data() + size_t(i) * sizeof(float), &value,
                sizeof(value));
  }
  return floats;
}

Status writeRuns(Executor &executor, const FileTensor &tensor,
                 std::string_view data) {
  const uint64_t size = elementBytes(tensor.type.dtype());
  for (const TensorRun &run :
       tensor.runs(executor.mesh(), executor.world().rank()))
    ZC_RETURN_IF_ERROR(executor.writeState(*tensor.state, run.state * size,
                                           data.data() + run.whole * size,
                                           run.count * size));
  return Status();
}

std::string describeTensor(const SafetensorsTensor &found,
                           const FileTensor &tensor) {
  return strCat("'", found.name, "' (", found.dtype, " ", printDims(found.dims),
                ", here ", printType(tensor.type), ")");
}

bool canTake(const SafetensorsTensor &found, const plan::TensorType &type) {
  const bool isFloat =
      found.dtype == "BF16" || found.dtype == "F16" || found.dtype == "F64";
  return std::equal(found.dims.begin(), found.dims.end(), type.dims().begin(),
                    type.dims().end()) &&
         (found.dtype == safetensorsTypeName(type.dtype()) ||
          (isFloat && type.dtype() == plan::F32));
}

/// One that can be taken.
Status loadOne(Executor &executor, const FileTensor &tensor,
               const SafetensorsTensor &found) {
  std::string_view data = found.data;
  std::optional<std::string> converted;
  if (found.dtype != safetensorsTypeName(tensor.type.dtype())) {
    converted = asFloats(found);
    data = *converted;
  }
  if (!allFinite(tensor.type.dtype(), data))
    return makeError(StatusCode::InvalidArgument, "'", found.name,
                     "' has values that are infinite or not a number");
  return writeRuns(executor, tensor, data);
}

/// Goes through the tensors of all roles; loads those of this rank's.
class Loading {
public:
  Loading(Executor &executor, const TensorFiles &files)
      : executor(executor), files(files) {}

  Status addRole(const plan::Role &role) {
    for (const plan::State &state : role.states())
      if (isModelState(state))
        for (const FileTensor &tensor : fileTensorsOf(state))
          ZC_RETURN_IF_ERROR(add(tensor, &role == &executor.artifact().role()));
    return Status();
  }

  /// Weights that this artifact freezes are in its code or states, and in no
  /// checkpoint: other ones would be lost.
  Status checkFrozen() {
    ZC_ASSIGN_OR_RETURN(const std::set<std::string> frozen,
                        readFrozenNames(executor.artifact().archive()));
    std::vector<const SafetensorsTensor *> others;
    for (const auto &[name, tensor] : files.all()) {
      if (used.count(&tensor) || !frozen.count(name))
        continue;
      used.insert(&tensor);
      const plan::State *state = findConstant(name);
      if (!state || !canCompare(*state, tensor))
        report.frozen.push_back(name);
      else if (executor.artifact().initialBytes(*state) != tensor.data)
        others.push_back(&tensor);
    }
    if (others.empty())
      return Status();
    return makeError(
        StatusCode::InvalidArgument, "it holds '", others.front()->name, "'",
        others.size() > 1 ? strCat(" and ", others.size() - 1, " more") : "",
        ", which this artifact freezes: it would compute with the values of "
        "its model file, not with these; write them into the model (zc export "
        "ARTIFACT --checkpoint DIR -o MODEL.onnx) and compile that");
  }

  WeightsReport finish() {
    for (const auto &[name, tensor] : files.all())
      if (!used.count(&tensor))
        report.unused.push_back(name);
    return std::move(report);
  }

private:
  const plan::State *findConstant(const std::string &name) const {
    for (const plan::Role &role : executor.artifact().manifest().roles())
      for (const plan::State &state : role.states())
        if (state.kind() == plan::CONSTANT && state.name() == name)
          return &state;
    return nullptr;
  }

  /// Small constants are in the code, and other types are rounded.
  bool canCompare(const plan::State &state,
                  const SafetensorsTensor &tensor) const {
    return tensor.dtype == safetensorsTypeName(state.type().dtype()) &&
           executor.artifact().initialBytes(state).size() == tensor.data.size();
  }

  Status add(const FileTensor &tensor, bool isOwn) {
    const SafetensorsTensor *found = findTied(files, tensor);
    const bool fits = found && canTake(*found, tensor.type);
    if (fits && isOwn)
      ZC_RETURN_IF_ERROR(loadOne(executor, tensor, *found));
    if (!counted.insert(tensor.name()).second)
      return Status();
    if (!found) {
      report.missing.push_back(tensor.name());
      return Status();
    }
    used.insert(found);
    if (fits)
      ++report.loaded;
    else
      report.misshapen.push_back(describeTensor(*found, tensor));
    return Status();
  }

  Executor &executor;
  const TensorFiles &files;
  WeightsReport report;
  std::set<const SafetensorsTensor *> used;
  std::set<std::string> counted; // several roles may hold one tensor
};

} // namespace

Result<WeightsReport> loadWeights(Executor &executor, const std::string &path) {
  ZC_ASSIGN_OR_RETURN(TensorFiles files, openWeights(path));
  Loading loading(executor, files);
  for (const plan::Role &role : executor.artifact().manifest().roles())
    if (Status status = loading.addRole(role); !status.ok())
      return status.withContext("'" + path + "'");
  if (Status status = loading.checkFrozen(); !status.ok())
    return status.withContext("'" + path + "'");
  WeightsReport report = loading.finish();
  if (report.loaded == 0)
    return makeError(StatusCode::InvalidArgument, "'", path,
                     "' has no tensor of the artifact's names and shapes",
                     describe(report, path).empty()
                         ? std::string()
                         : "; " + describe(report, path).front());
  return report;
}

std::vector<std::string> describe(const WeightsReport &report,
                                  const std::string &path) {
  // The most names to print; the rest is counted.
  constexpr size_t kMost = 20;
  std::vector<std::string> lines;
  auto add = [&](const std::string &what, const std::vector<std::string> &names,
                 const char *quote) {
    if (names.empty())
      return;
    std::string line = what;
    for (size_t i = 0; i < std::min(names.size(), kMost); ++i)
      line += strCat(i ? ", " : " ", quote, names[i], quote);
    if (names.size() > kMost)
      line += strCat(" and ", names.size() - kMost, " more");
    lines.push_back(line);
  };
  const std::string from = "--init-from '" + path + "'";
  add(from +
          " has another type or shape of, so that these begin as without it:",
      report.misshapen, "");
  add(from + " lacks, so that these begin as without it:", report.missing, "'");
  add(from + " holds weights that this artifact freezes, which stay those of "
             "its model file:",
      report.frozen, "'");
  add(from + " has more, which this artifact does not have:", report.unused,
      "'");
  return lines;
}

} // namespace zc
