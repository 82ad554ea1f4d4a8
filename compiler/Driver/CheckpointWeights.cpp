#include "compiler/Driver/CheckpointWeights.h"

#include "runtime/Plan/CheckpointFolder.h"

#include <nlohmann/json.hpp>
#include <set>

using namespace zc;

constexpr size_t kIndexLimit = size_t(64) << 20;

// The files that the index names, which must lie in the checkpoint's folder.
static Result<std::set<std::string>> readIndex(const std::string &path) {
  ZC_ASSIGN_OR_RETURN(std::string text, readFile(path, kIndexLimit));
  auto index = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  bool sound = index.is_object() && index.contains("weight_map") &&
               index["weight_map"].is_object();
  std::set<std::string> files;
  if (sound)
    for (const auto &[name, file] : index["weight_map"].items()) {
      sound &= file.is_string() &&
               file.get<std::string>().find('/') == std::string::npos;
      if (sound)
        files.insert(file.get<std::string>());
    }
  if (!sound)
    return makeError(StatusCode::Corrupt, "'", path,
                     "' is no index of safetensors files");
  return files;
}

Result<CheckpointWeights::Tensors>
CheckpointWeights::readFiles(const char *index) {
  Tensors all;
  ZC_ASSIGN_OR_RETURN(std::set<std::string> names,
                      readIndex(thePath + "/" + index));
  for (const std::string &name : names) {
    ZC_ASSIGN_OR_RETURN(auto file, MappedFile::open(thePath + "/" + name));
    auto tensors = parseSafetensors(file->bytes());
    if (!tensors.ok())
      return tensors.status().withContext(file->path());
    for (SafetensorsTensor &tensor : *tensors) {
      if (Status status = checkSum(tensor); !status.ok())
        return status.withContext("'" + file->path() + "'");
      file->release(tensor.data);
      all[tensor.name] = tensor;
    }
    files.push_back(file);
  }
  return all;
}

Status
CheckpointWeights::replace(const std::map<std::string, std::string> &states) {
  ZC_ASSIGN_OR_RETURN(Tensors kept, readFiles(checkpoint::kOptimizerIndex));
  for (const auto &[name, state] : states) {
    auto found = kept.find(state);
    if (found == kept.end())
      return makeError(StatusCode::InvalidArgument, "checkpoint '", thePath,
                       "' has no '", state,
                       "'; its run was of another artifact");
    theTensors[name] = found->second;
    theTensors[name].name = name;
  }
  return Status();
}

Result<CheckpointWeights> CheckpointWeights::open(const std::string &path) {
  CheckpointWeights weights;
  ZC_ASSIGN_OR_RETURN(weights.thePath, findCheckpoint(path));
  ZC_ASSIGN_OR_RETURN(weights.theTensors,
                      weights.readFiles(checkpoint::kModelIndex));
  return weights;
}

const SafetensorsTensor *
CheckpointWeights::find(const std::string &name) const {
  auto tensor = theTensors.find(name);
  return tensor == theTensors.end() ? nullptr : &tensor->second;
}
