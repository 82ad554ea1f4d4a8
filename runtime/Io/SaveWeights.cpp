// A run's weights for other programs, in one file.
#include "runtime/Base/File.h"
#include "runtime/Base/Hash.h"
#include "runtime/Io/Checkpoint.h"
#include "runtime/Io/CheckpointFormat.h"
#include "runtime/Io/StateTensors.h"
#include "runtime/Plan/Safetensors.h"

#include <map>

namespace zc {

using namespace checkpoint;

Status saveWeights(Executor &executor, const std::string &path) {
  std::map<std::string, FileTensor> tensors;
  for (const plan::State &state : executor.role().states())
    for (const FileTensor &tensor : modelTensorsOf(state))
      tensors.emplace(tensor.name(), tensor);
  std::vector<SafetensorsTensor> entries;
  for (const auto &[name, tensor] : tensors)
    entries.push_back({name,
                       safetensorsTypeName(tensor.type.dtype()),
                       {tensor.type.dims().begin(), tensor.type.dims().end()},
                       {},
                       /*xxh64=*/0});
  const std::map<std::string, std::string> metadata = {{"format", "pt"}};
  ZC_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  std::string header = makeSafetensorsHeader(entries, metadata);
  ZC_RETURN_IF_ERROR(file.write(header.data(), header.size()));
  // One tensor at a time in the host's memory; checksums come last.
  size_t at = 0;
  std::string bytes;
  for (const auto &[name, tensor] : tensors) {
    bytes.resize(*byteCount(tensor.type));
    ZC_RETURN_IF_ERROR(readTensor(executor, tensor, bytes.data()));
    entries[at++].xxh64 = hashBytes(bytes);
    ZC_RETURN_IF_ERROR(file.write(bytes.data(), bytes.size()));
  }
  header = makeSafetensorsHeader(entries, metadata);
  ZC_RETURN_IF_ERROR(file.writeAt(0, header.data(), header.size()));
  return file.commit();
}

} // namespace zc
