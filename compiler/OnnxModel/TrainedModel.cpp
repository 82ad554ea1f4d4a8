#include "compiler/OnnxModel/TrainedModel.h"

#include "compiler/OnnxModel/ExternalData.h"
#include "compiler/OnnxModel/StoredModel.h"

using namespace zc;
using llvm::Error;
using llvm::Expected;

// Pages are what readers of external data map.
constexpr uint64_t kAlignment = 4096;

static void addEntry(proto::TensorProto &tensor, const char *key,
                     std::string value) {
  proto::StringStringEntryProto *entry = tensor.add_external_data();
  entry->set_key(key);
  entry->set_value(std::move(value));
}

namespace {
struct Filled {
  proto::TensorProto *tensor;
  std::string_view bytes;
};
} // namespace

static void makeInline(llvm::ArrayRef<Filled> tensors) {
  for (const Filled &each : tensors) {
    each.tensor->clear_external_data();
    each.tensor->clear_data_location();
    each.tensor->set_raw_data(std::string(each.bytes));
  }
}

static void makeExternal(llvm::ArrayRef<Filled> tensors,
                         const std::string &dataName, TrainedModel &result) {
  uint64_t offset = 0;
  for (const Filled &each : tensors) {
    offset = (offset + kAlignment - 1) / kAlignment * kAlignment;
    each.tensor->clear_external_data();
    addEntry(*each.tensor, "location", dataName);
    addEntry(*each.tensor, "offset", std::to_string(offset));
    addEntry(*each.tensor, "length", std::to_string(each.bytes.size()));
    result.parts.push_back({offset, each.bytes});
    offset += each.bytes.size();
  }
}

Expected<TrainedModel> zc::makeTrainedModel(
    std::string_view graph, const std::string &dataName, uint64_t inlineLimit,
    const std::function<Expected<std::string_view>(
        const std::string &, const ModelTensorType &)> &getBytes) {
  proto::ModelProto model;
  if (!model.ParseFromArray(graph.data(), graph.size()))
    return llvm::createStringError("the artifact's model is damaged");
  std::vector<Filled> tensors;
  uint64_t total = 0;
  Error error = Error::success();
  forEachTensor(model, [&](proto::TensorProto &tensor) {
    std::optional<std::string> key = getArtifactKey(tensor);
    if (!key || error)
      return;
    Expected<std::string_view> bytes = getBytes(
        *key,
        {tensor.data_type(),
         llvm::ArrayRef<int64_t>(tensor.dims().data(), tensor.dims().size()),
         getTensorBytes(tensor).value_or(0)});
    if (!bytes) {
      error = bytes.takeError();
      return;
    }
    tensors.push_back({&tensor, *bytes});
    total += bytes->size();
  });
  if (error)
    return error;
  TrainedModel result;
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
