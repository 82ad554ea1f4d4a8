#include "compiler/OnnxModel/StoredModel.h"

#include "compiler/OnnxModel/ExternalData.h"
#include "compiler/OnnxModel/ModelWeights.h"
#include "compiler/OnnxModel/WireRewriter.h"

using namespace zc;
using llvm::Error;
using llvm::Expected;

static void pointIntoArtifact(proto::TensorProto &tensor, std::string key) {
  clearTensorData(tensor);
  tensor.set_data_location(proto::TensorProto::EXTERNAL);
  addExternalEntry(tensor, "location", std::string(kInsideArtifact));
  addExternalEntry(tensor, "key", std::move(key));
}

std::optional<std::string>
zc::getArtifactKey(const proto::TensorProto &tensor) {
  if (tensor.data_location() != proto::TensorProto::EXTERNAL)
    return std::nullopt;
  for (const proto::StringStringEntryProto &entry : tensor.external_data())
    if (entry.key() == "key")
      return entry.value();
  return std::nullopt;
}

namespace {
class Storer {
public:
  Storer(ModelFile &file,
         const std::function<std::string(llvm::StringRef)> &getState)
      : file(file), getState(getState) {}

  Expected<StoredModel> run();

private:
  Error store(proto::TensorProto &tensor);

  ModelFile &file;
  const std::function<std::string(llvm::StringRef)> &getState;
  StoredModel result;
};
} // namespace

// A big tensor goes beside the weights, a small one into the graph.
Error Storer::store(proto::TensorProto &tensor) {
  if (isAbsent(tensor)) {
    pointIntoArtifact(tensor, (kAbsentKey + tensor.name()).str());
    return Error::success();
  }
  std::optional<TensorSource> source = getSource(file, tensor);
  if (!source)
    return Error::success();
  if (source->length <= kInlineBytes) {
    Expected<std::string> bytes = readTensorBytes(file, tensor);
    if (!bytes)
      return bytes.takeError();
    clearTensorData(tensor);
    tensor.set_raw_data(std::move(*bytes));
    return Error::success();
  }
  // No state's name holds a colon at this place: keys do not collide.
  std::string key =
      "model:" + std::to_string(result.tensors.size()) + ":" + tensor.name();
  result.tensors.push_back({key,
                            tensor.data_type(),
                            {tensor.dims().begin(), tensor.dims().end()},
                            *source});
  pointIntoArtifact(tensor, key);
  return Error::success();
}

Expected<StoredModel> Storer::run() {
  for (ModelWeight &weight : findWeights(file.model)) {
    std::string key = getState(weight.name);
    if (key.empty())
      continue;
    pointIntoArtifact(getTensor(weight), key);
    result.placed.insert(key);
  }
  Error error = Error::success();
  forEachTensor(file.model, [&](proto::TensorProto &tensor) {
    if (!error && !getArtifactKey(tensor))
      error = store(tensor);
  });
  if (error)
    return error;
  if (!file.model.SerializeToString(&result.graph))
    return llvm::createStringError(
        "has a graph of more than 2 GiB without its weights");
  return result;
}

Expected<StoredModel> zc::makeStoredModel(
    ModelFile file,
    const std::function<std::string(llvm::StringRef)> &getState) {
  return Storer(file, getState).run();
}
