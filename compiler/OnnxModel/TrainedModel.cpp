#include "compiler/OnnxModel/TrainedModel.h"

#include "compiler/OnnxModel/ExternalData.h"
#include "compiler/OnnxModel/IntegerWeights.h"
#include "compiler/OnnxModel/ModelWeights.h"
#include "compiler/OnnxModel/StoredModel.h"

#include "llvm/ADT/DenseMap.h"

using namespace zc;
using llvm::Error;
using llvm::Expected;

// Pages are what readers of external data map.
constexpr uint64_t kAlignment = 4096;

namespace {
struct Filled {
  proto::TensorProto *tensor;
  std::string_view bytes;
};
} // namespace

static void makeInline(llvm::ArrayRef<Filled> tensors) {
  for (const Filled &each : tensors) {
    clearTensorData(*each.tensor);
    each.tensor->set_raw_data(std::string(each.bytes));
  }
}

static void makeExternal(llvm::ArrayRef<Filled> tensors,
                         const std::string &dataName, TrainedModel &result) {
  uint64_t offset = 0;
  for (const Filled &each : tensors) {
    offset = (offset + kAlignment - 1) / kAlignment * kAlignment;
    clearTensorData(*each.tensor);
    each.tensor->set_data_location(proto::TensorProto::EXTERNAL);
    addExternalEntry(*each.tensor, "location", dataName);
    addExternalEntry(*each.tensor, "offset", std::to_string(offset));
    addExternalEntry(*each.tensor, "length", std::to_string(each.bytes.size()));
    result.parts.push_back({offset, each.bytes});
    offset += each.bytes.size();
  }
}

// The names of weights, also of those that are initializers of no floats.
static llvm::DenseMap<const proto::TensorProto *, std::string>
nameTensors(proto::ModelProto &model) {
  llvm::DenseMap<const proto::TensorProto *, std::string> names;
  for (const ModelWeight &weight : findWeights(model))
    if (weight.tensor)
      names[weight.tensor] = weight.name;
  return names;
}

Expected<TrainedModel> zc::makeTrainedModel(
    std::string_view graph, const std::string &dataName, uint64_t inlineLimit,
    const std::function<Expected<std::optional<ModelTensorBytes>>(
        const std::string &, const std::string &, const ModelTensorType &)>
        &getBytes) {
  proto::ModelProto model;
  if (!model.ParseFromArray(graph.data(), graph.size()))
    return llvm::createStringError("the artifact's model is damaged");
  auto names = nameTensors(model);
  std::vector<Filled> tensors;
  std::vector<Filled> real; // numbers that integers stand for
  uint64_t total = 0;
  Error error = Error::success();
  forEachTensor(model, [&](proto::TensorProto &tensor) {
    if (error)
      return;
    auto bytes = getBytes(
        getArtifactKey(tensor).value_or(""), names.lookup(&tensor),
        {tensor.data_type(),
         llvm::ArrayRef<int64_t>(tensor.dims().data(), tensor.dims().size()),
         getTensorBytes(tensor).value_or(0)});
    if (!bytes) {
      error = bytes.takeError();
      return;
    }
    if (!*bytes)
      return;
    ((*bytes)->areReal ? real : tensors).push_back({&tensor, (*bytes)->bytes});
    total += (*bytes)->bytes.size();
  });
  if (error)
    return error;
  TrainedModel result;
  IntegerWeights integers(model);
  for (const Filled &each : tensors)
    integers.setBytes(each.tensor->name(), each.bytes);
  for (const Filled &each : real) {
    Expected<std::string> whole = integers.quantise(*each.tensor, each.bytes);
    if (!whole)
      return whole.takeError();
    tensors.push_back(
        {each.tensor, result.made.emplace_back(std::move(*whole))});
  }
  if (total > inlineLimit)
    makeExternal(tensors, dataName, result);
  else
    makeInline(tensors);
  if (Error wrong = checkModel(model))
    return wrong;
  if (!model.SerializeToString(&result.model))
    return llvm::createStringError("the model would be larger than 2 GiB");
  return result;
}
