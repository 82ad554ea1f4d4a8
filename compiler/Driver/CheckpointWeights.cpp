#include "compiler/Driver/CheckpointWeights.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

using namespace zc;

constexpr const char *kIndex = "model.safetensors.index.json";
constexpr size_t kIndexLimit = size_t(64) << 20;

static bool hasIndex(const std::string &folder) {
  return llvm::sys::fs::exists(folder + "/" + kIndex);
}

// DIR itself, or its newest step-N that is complete.
static Result<std::string> findFolder(const std::string &path) {
  if (hasIndex(path))
    return path;
  std::optional<uint64_t> latest;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(path, error), end;
       it != end && !error; it.increment(error)) {
    llvm::StringRef name = llvm::sys::path::filename(it->path());
    uint64_t step;
    if (name.consume_front("step-") && !name.getAsInteger(10, step) &&
        hasIndex(it->path()))
      latest = std::max(latest.value_or(0), step);
  }
  if (error)
    return makeError(StatusCode::NotFound, "checkpoint '", path,
                     "' cannot be read: ", error.message());
  if (!latest)
    return makeError(StatusCode::NotFound, "'", path,
                     "' holds no checkpoint: expected step-N folders, or ",
                     kIndex);
  return path + "/step-" + std::to_string(*latest);
}

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

Status CheckpointWeights::readFiles() {
  ZC_ASSIGN_OR_RETURN(std::set<std::string> names,
                      readIndex(thePath + "/" + kIndex));
  for (const std::string &name : names) {
    ZC_ASSIGN_OR_RETURN(auto file, MappedFile::open(thePath + "/" + name));
    auto tensors = parseSafetensors(file->bytes());
    if (!tensors.ok())
      return tensors.status().withContext(file->path());
    for (SafetensorsTensor &tensor : *tensors)
      theTensors[tensor.name] = tensor;
    files.push_back(file);
  }
  return Status();
}

Result<CheckpointWeights> CheckpointWeights::open(const std::string &path) {
  CheckpointWeights weights;
  ZC_ASSIGN_OR_RETURN(weights.thePath, findFolder(path));
  ZC_RETURN_IF_ERROR(weights.readFiles());
  return weights;
}

const SafetensorsTensor *
CheckpointWeights::find(const std::string &name) const {
  auto tensor = theTensors.find(name);
  return tensor == theTensors.end() ? nullptr : &tensor->second;
}
