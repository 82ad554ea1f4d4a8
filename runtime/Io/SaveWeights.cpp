// A run's weights for other programs, in one file.
#include "runtime/Base/File.h"
#include "runtime/Base/Hash.h"
#include "runtime/Io/Checkpoint.h"
#include "runtime/Io/CheckpointFormat.h"
#include "runtime/Io/StateTensors.h"
#include "runtime/Plan/Safetensors.h"

#include <algorithm>
#include <optional>

namespace zc {

using namespace checkpoint;

namespace {

/// A .safetensors file whose tensors are given one after another.
class WeightsFile {
public:
  static Result<WeightsFile> create(const std::string &path,
                                    std::vector<SafetensorsTensor> entries) {
    ZC_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
    WeightsFile result(std::move(file), std::move(entries));
    const std::string header = result.header();
    ZC_RETURN_IF_ERROR(result.file.write(header.data(), header.size()));
    return result;
  }

  Status add(const std::string &bytes) {
    entries[at++].xxh64 = hashBytes(bytes);
    return file.write(bytes.data(), bytes.size());
  }

  /// Checksums come last.
  Status finish() {
    const std::string whole = header();
    ZC_RETURN_IF_ERROR(file.writeAt(0, whole.data(), whole.size()));
    return file.commit();
  }

private:
  WeightsFile(AtomicFile file, std::vector<SafetensorsTensor> entries)
      : file(std::move(file)), entries(std::move(entries)) {}
  std::string header() const {
    return makeSafetensorsHeader(entries, {{"format", "pt"}});
  }

  AtomicFile file;
  std::vector<SafetensorsTensor> entries;
  size_t at = 0;
};

} // namespace

Status saveWeights(Executor &executor, const std::string &path) {
  std::vector<HeldTensor> tensors = tensorsOfRoles(
      executor.artifact().manifest(),
      std::function<std::vector<FileTensor>(const plan::State &)>(
          modelTensorsOf));
  std::sort(tensors.begin(), tensors.end(),
            [](const HeldTensor &left, const HeldTensor &right) {
              return left.tensor.name() < right.tensor.name();
            });
  std::vector<SafetensorsTensor> entries;
  for (const auto &[tensor, roles] : tensors)
    entries.push_back({tensor.name(),
                       safetensorsTypeName(tensor.type.dtype()),
                       {tensor.type.dims().begin(), tensor.type.dims().end()},
                       {},
                       /*xxh64=*/0});
  std::optional<WeightsFile> file; // the first rank's
  if (executor.world().isFirst()) {
    ZC_ASSIGN_OR_RETURN(WeightsFile created,
                        WeightsFile::create(path, std::move(entries)));
    file.emplace(std::move(created));
  }
  // One tensor at a time in the host's memory.
  std::string bytes;
  for (const HeldTensor &held : tensors) {
    bytes.resize(*byteCount(held.tensor.type));
    ZC_RETURN_IF_ERROR(gatherTensor(executor, held, bytes.data()));
    if (file)
      ZC_RETURN_IF_ERROR(file->add(bytes));
  }
  return file ? file->finish() : Status();
}

} // namespace zc
