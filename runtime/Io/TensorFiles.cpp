#include "runtime/Io/TensorFiles.h"

namespace zc::checkpoint {

constexpr size_t kMaxJson = 256u << 20;

Result<Json> readJson(const std::string &path) {
  ZC_ASSIGN_OR_RETURN(std::string text, readFile(path, kMaxJson));
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object())
    return makeError(StatusCode::Corrupt, "'", path,
                     "' is damaged: it is not a JSON object");
  return json;
}

Result<TensorFiles> TensorFiles::open(const std::string &folder,
                                      const Group &group, const World *world) {
  std::string path = folder + "/" + indexName(group);
  ZC_ASSIGN_OR_RETURN(Json index, readJson(path));
  TensorFiles files(world);
  if (!index.contains("weight_map") || !index["weight_map"].is_object())
    return makeError(StatusCode::Corrupt, "'", path,
                     "' is damaged: it has no weight map");
  for (const auto &[tensor, file] : index["weight_map"].items()) {
    // A name with a folder in it could lead anywhere.
    if (!file.is_string() ||
        file.template get<std::string>().find('/') != std::string::npos)
      return makeError(StatusCode::Corrupt, "'", path, "' is damaged: '",
                       tensor, "' is in no file");
    ZC_RETURN_IF_ERROR(
        files.addFile(folder + "/" + file.template get<std::string>()));
  }
  return files;
}

Result<TensorFiles> TensorFiles::openFile(const std::string &path) {
  TensorFiles files(nullptr);
  ZC_RETURN_IF_ERROR(files.addFile(path));
  return files;
}

const SafetensorsTensor *TensorFiles::find(const std::string &name) const {
  auto found = tensors.find(name);
  return found == tensors.end() ? nullptr : &found->second;
}

static Status checkTensor(const MappedFile &file,
                          const SafetensorsTensor &tensor) {
  Status status = checkSum(tensor);
  file.release(tensor.data);
  return status.ok() ? status
                     : Status(status.code(),
                              strCat("'", file.path(), "': ", status.message(),
                                     "; take another checkpoint"));
}

Status TensorFiles::addFile(const std::string &path) {
  if (files.count(path))
    return Status();
  ZC_ASSIGN_OR_RETURN(auto file, MappedFile::open(path));
  auto parsed = parseSafetensors(file->bytes());
  if (!parsed.ok())
    return parsed.status().withContext("'" + path + "'");
  const bool isMine =
      !world || files.size() % size_t(world->size()) == size_t(world->rank());
  for (SafetensorsTensor &tensor : *parsed) {
    if (isMine)
      ZC_RETURN_IF_ERROR(checkTensor(*file, tensor));
    tensors.emplace(tensor.name, tensor);
  }
  files.emplace(path, std::move(file));
  return Status();
}

} // namespace zc::checkpoint
