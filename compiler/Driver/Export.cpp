#include "compiler/Driver/Export.h"

#include "compiler/Driver/CheckpointWeights.h"
#include "compiler/Driver/Diagnostics.h"
#include "compiler/OnnxModel/ModelFile.h"
#include "compiler/OnnxModel/StoredModel.h"
#include "compiler/OnnxModel/TrainedModel.h"
#include "runtime/Plan/Artifact.h"
#include "runtime/Plan/FileTensor.h"
#include "runtime/Plan/FloatBytes.h"
#include "runtime/Plan/Types.h"

#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <deque>
#include <set>

using namespace zc;

// A model file may have 2 GiB; above half of that, weights lie beside it.
constexpr uint64_t kInlineLimit = uint64_t(1) << 30;

static Status toStatus(llvm::Error error) {
  return Status(StatusCode::InvalidArgument, llvm::toString(std::move(error)));
}

// Of the types that a run may hold otherwise; unspecified: another.
static plan::DataType getPlanType(int32_t dataType) {
  switch (dataType) {
  case proto::TensorProto::FLOAT:
    return plan::F32;
  case proto::TensorProto::FLOAT16:
    return plan::F16;
  case proto::TensorProto::BFLOAT16:
    return plan::BF16;
  default:
    return plan::DATA_TYPE_UNSPECIFIED;
  }
}

static bool isIntegerType(int32_t dataType) {
  return getElementBytes(dataType) != 0 && !isFloatType(dataType) &&
         dataType != proto::TensorProto::BOOL;
}

namespace {
// The tensors that the model asks for: what the checkpoint holds from there,
// also what this artifact does not train, the others from the artifact.
class Weights {
public:
  Weights(const CheckpointWeights &checkpoint, const Artifact &artifact,
          const std::vector<SafetensorsTensor> &stored);

  /// Every tensor that is trained or a statistic must be in the checkpoint.
  Status check() const;
  /// The bytes of the model's tensor `name`, which the artifact has under
  /// `key`; nothing where neither has any.
  llvm::Expected<std::optional<ModelTensorBytes>>
  get(const std::string &key, const std::string &name,
      const ModelTensorType &type);
  /// Every tensor of the checkpoint must have been asked for.
  Status checkAllTaken() const;

private:
  const SafetensorsTensor *take(const std::string &key,
                                const std::string &name);
  llvm::Expected<std::string_view> readReferred(const std::string &key,
                                                uint64_t bytes) const;

  const CheckpointWeights &checkpoint;
  const Artifact &artifact;
  std::map<std::string, const SafetensorsTensor *> stored;
  std::set<std::string> trained; // or else changed or drawn by a run
  std::set<std::string> taken;   // of the checkpoint
  std::deque<std::string> made;
};
} // namespace

Weights::Weights(const CheckpointWeights &checkpoint, const Artifact &artifact,
                 const std::vector<SafetensorsTensor> &tensors)
    : checkpoint(checkpoint), artifact(artifact) {
  for (const SafetensorsTensor &tensor : tensors)
    stored[tensor.name] = &tensor;
  for (const plan::Role &role : artifact.manifest().roles())
    for (const plan::State &state : role.states())
      if (isModelState(state))
        for (const FileTensor &tensor : fileTensorsOf(state))
          trained.insert(tensor.name());
}

Status Weights::check() const {
  for (const std::string &name : trained)
    if (!checkpoint.find(name))
      return makeError(StatusCode::InvalidArgument, "checkpoint '",
                       checkpoint.path(), "' lacks the tensor '", name,
                       "'; it belongs to another model");
  return Status();
}

// A tied weight is in the checkpoint under the name of the first.
const SafetensorsTensor *Weights::take(const std::string &key,
                                       const std::string &name) {
  const SafetensorsTensor *tensor =
      checkpoint.find(trained.count(key) ? key : name);
  if (tensor)
    taken.insert(tensor->name);
  return tensor;
}

llvm::Expected<std::optional<ModelTensorBytes>>
Weights::get(const std::string &key, const std::string &name,
             const ModelTensorType &type) {
  const SafetensorsTensor *tensor = take(key, name);
  if (!tensor && key.empty())
    return std::nullopt;
  if (!tensor && llvm::StringRef(key).starts_with(kAbsentKey))
    return ModelTensorBytes{made.emplace_back(type.bytes, '\0')};
  if (!tensor)
    if (auto entry = stored.find(key); entry != stored.end())
      tensor = entry->second;
  if (!tensor) {
    auto bytes = readReferred(key, type.bytes);
    if (!bytes)
      return bytes.takeError();
    return ModelTensorBytes{*bytes};
  }
  plan::DataType given = dataTypeOf(tensor->dtype);
  plan::DataType wanted = getPlanType(type.dataType);
  const bool sameDims = llvm::ArrayRef<int64_t>(tensor->dims) == type.dims;
  if (given == plan::F32 && sameDims && isIntegerType(type.dataType))
    return ModelTensorBytes{tensor->data, /*areReal=*/true};
  bool converts = given != wanted && canConvertFloats(given, wanted);
  if ((tensor->data.size() != type.bytes && !converts) || !sameDims)
    return llvm::createStringError(
        "tensor '" + tensor->name +
        "' has another shape or type in the checkpoint than "
        "in the model; it belongs to another model");
  // A run keeps what the model has in 16 bits as float32.
  if (converts)
    return ModelTensorBytes{
        made.emplace_back(convertFloats(tensor->data, given, wanted))};
  return ModelTensorBytes{tensor->data};
}

Status Weights::checkAllTaken() const {
  for (const auto &[name, tensor] : checkpoint.tensors())
    if (!taken.count(name))
      return makeError(StatusCode::InvalidArgument, "checkpoint '",
                       checkpoint.path(), "' holds '", name,
                       "', for which the model has no tensor; it belongs to "
                       "another model");
  return Status();
}

llvm::Expected<std::string_view> Weights::readReferred(const std::string &key,
                                                       uint64_t bytes) const {
  auto found = artifact.referred(key);
  if (!found.ok())
    return llvm::createStringError(found.status().message());
  if (!*found || (*found)->size() != bytes)
    return llvm::createStringError("the artifact lacks the tensor '" + key +
                                   "'");
  return **found;
}

// --- Files
// -------------------------------------------------------------------------

namespace {
/// What is written: all of it, or nothing.
class Outputs {
public:
  Result<AtomicFile *> add(const std::string &path) {
    ZC_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
    return &files.emplace_back(std::move(file));
  }
  /// In the order in which they were added.
  Status commit() {
    for (AtomicFile &file : files)
      ZC_RETURN_IF_ERROR(file.commit());
    return Status();
  }

private:
  std::deque<AtomicFile> files;
};
} // namespace

static Status writeParts(const TrainedModel &model, AtomicFile &file) {
  for (const TrainedModel::Part &part : model.parts) {
    std::string gap(part.offset - file.size(), '\0');
    ZC_RETURN_IF_ERROR(file.write(gap.data(), gap.size()));
    ZC_RETURN_IF_ERROR(file.write(part.bytes.data(), part.bytes.size()));
  }
  return Status();
}

// The data first: a model in place always finds them.
static Status writeModel(const ExportOptions &options, const Artifact &artifact,
                         Weights &weights, Outputs &outputs) {
  const ZipEntry *entry = artifact.archive().find(kModelEntry);
  if (!entry)
    return makeError(StatusCode::InvalidArgument, options.artifact,
                     ": holds no model to export");
  ZC_ASSIGN_OR_RETURN(std::string_view graph, artifact.archive().view(*entry));
  std::string dataName =
      llvm::sys::path::filename(options.output).str() + ".data";
  auto model =
      makeTrainedModel(graph, dataName, kInlineLimit,
                       [&](const std::string &key, const std::string &name,
                           const ModelTensorType &type) {
                         return weights.get(key, name, type);
                       });
  if (!model)
    return toStatus(model.takeError());
  ZC_RETURN_IF_ERROR(weights.checkAllTaken());
  if (!model->parts.empty()) {
    std::string data = parentPath(options.output) + "/" + dataName;
    ZC_RETURN_IF_ERROR(artifact.files().check("--output: the weights", data));
    ZC_ASSIGN_OR_RETURN(AtomicFile * file, outputs.add(data));
    ZC_RETURN_IF_ERROR(writeParts(*model, *file));
  }
  ZC_ASSIGN_OR_RETURN(AtomicFile * file, outputs.add(options.output));
  return file->write(model->model.data(), model->model.size());
}

static Status writeWeights(const std::string &path,
                           const CheckpointWeights &checkpoint,
                           Outputs &outputs) {
  std::vector<SafetensorsTensor> tensors;
  for (const auto &[name, tensor] : checkpoint.tensors())
    tensors.push_back(tensor);
  ZC_ASSIGN_OR_RETURN(AtomicFile * file, outputs.add(path));
  std::string header = makeSafetensorsHeader(tensors, {{"format", "pt"}});
  ZC_RETURN_IF_ERROR(file->write(header.data(), header.size()));
  for (const SafetensorsTensor &tensor : tensors)
    ZC_RETURN_IF_ERROR(file->write(tensor.data.data(), tensor.data.size()));
  return Status();
}

// No file that is written may be one that is read, or another one written.
static Status checkOutputs(const ExportOptions &options,
                           const Artifact &artifact,
                           const CheckpointWeights &checkpoint) {
  if (!options.output.empty() && options.output == options.safetensors)
    return makeError(StatusCode::InvalidArgument,
                     "--output and --safetensors both name '", options.output,
                     "'");
  InputFiles inputs = artifact.files();
  inputs.addFolder(checkpoint.path());
  ZC_RETURN_IF_ERROR(inputs.check("--output", options.output));
  return inputs.check("--safetensors", options.safetensors);
}

/// The names of parameters, and of their moving averages.
static std::map<std::string, std::string>
listAverages(const Artifact &artifact) {
  std::map<std::string, std::string> averages;
  for (const plan::Role &role : artifact.manifest().roles())
    for (const plan::State &state : role.states())
      if (state.kind() == plan::OPTIMIZER && state.slot() == kAverageSlot)
        for (const FileTensor &tensor : fileTensorsOf(state)) {
          const std::string stored = tensor.name();
          llvm::StringRef name = stored;
          name.consume_front("state.");
          name.consume_back(std::string(".") + kAverageSlot);
          averages[name.str()] = stored;
        }
  return averages;
}

static Status takeAverages(const Artifact &artifact,
                           CheckpointWeights &checkpoint) {
  std::map<std::string, std::string> averages = listAverages(artifact);
  if (averages.empty())
    return makeError(StatusCode::InvalidArgument, "--ema: '", artifact.path(),
                     "' keeps no moving averages; zc compile --ema DECAY does");
  return checkpoint.replace(averages);
}

static Status run(const ExportOptions &options) {
  for (const std::string &path : {options.output, options.safetensors})
    if (!path.empty())
      ZC_RETURN_IF_ERROR(checkParentExists(path));
  // What it refers to is read where the model needs it.
  ZC_ASSIGN_OR_RETURN(Artifact artifact,
                      Artifact::load(options.artifact, /*checkWeights=*/false));
  ZC_ASSIGN_OR_RETURN(CheckpointWeights checkpoint,
                      CheckpointWeights::open(options.checkpoint));
  ZC_RETURN_IF_ERROR(checkOutputs(options, artifact, checkpoint));
  if (options.average)
    ZC_RETURN_IF_ERROR(takeAverages(artifact, checkpoint));
  std::vector<SafetensorsTensor> stored;
  if (const ZipEntry *entry = artifact.archive().find(kWeightsEntry)) {
    ZC_ASSIGN_OR_RETURN(std::string_view bytes,
                        artifact.archive().view(*entry));
    ZC_ASSIGN_OR_RETURN(stored, parseSafetensors(bytes));
  }
  Weights weights(checkpoint, artifact, stored);
  ZC_RETURN_IF_ERROR(weights.check());
  Outputs outputs;
  if (!options.output.empty())
    ZC_RETURN_IF_ERROR(writeModel(options, artifact, weights, outputs));
  if (!options.safetensors.empty())
    ZC_RETURN_IF_ERROR(writeWeights(options.safetensors, checkpoint, outputs));
  return outputs.commit();
}

int zc::exportModel(const ExportOptions &options) {
  Status status = run(options);
  if (!status.ok())
    return reportError(status.message());
  for (const std::string &path : {options.output, options.safetensors})
    if (!path.empty())
      llvm::outs() << "zc: wrote " << path << '\n';
  return 0;
}
