#include "runtime/Io/CheckpointParts.h"
#include "runtime/Io/Convert.h"

#include <algorithm>
#include <cassert>

namespace zc::checkpoint {

/// Makes as many files as ranks if there are enough tensors, so that ranks
/// begin in different ones; all ranks find the same.
std::vector<TensorFile> divideIntoFiles(const plan::Manifest &manifest,
                                        const Group &group, size_t ranks) {
  std::vector<HeldTensor> tensors = tensorsOfRoles(manifest, group.tensorsOf);
  uint64_t total = 0, before = 0;
  for (const HeldTensor &held : tensors)
    total += *byteCount(held.tensor.type);
  const size_t count = std::max<size_t>(1, std::min(ranks, tensors.size()));
  std::vector<TensorFile> files(count);
  for (size_t i = 0; i < count; ++i) {
    char name[64];
    std::snprintf(name, sizeof(name), "-%05zu-of-%05zu.safetensors", i + 1,
                  count);
    files[i].name = group.name + std::string(name);
  }
  size_t at = 0;
  for (HeldTensor &held : tensors) {
    const FileTensor &tensor = held.tensor;
    // On to the next file when this one has its share.
    while (at + 1 < count && before * count >= (at + 1) * total)
      ++at;
    TensorFile &file = files[at];
    const uint64_t bytes = *byteCount(tensor.type);
    before += bytes;
    file.bytes += bytes;
    file.entries.push_back(
        {tensor.name(),
         safetensorsTypeName(tensor.type.dtype()),
         {tensor.type.dims().begin(), tensor.type.dims().end()},
         {},
         /*xxh64=*/0});
    file.tensors.push_back(std::move(held));
  }
  return files;
}

size_t TensorFile::numberOf(const FileTensor &tensor) const {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const HeldTensor &held) {
        return &held.tensor == &tensor;
      });
  assert(found != tensors.end() && "a part is of one of its file's tensors");
  return size_t(found - tensors.begin());
}

std::string headerOf(const TensorFile &file) {
  return makeSafetensorsHeader(file.entries, {{"format", "pt"}});
}

std::vector<Part> listOwnParts(Executor &executor, const TensorFile &file) {
  std::vector<Part> parts;
  uint64_t offset = headerOf(file).size();
  const int rank = executor.world().rank();
  const int role = executor.mesh().role(rank);
  for (const auto &[tensor, roles] : file.tensors) {
    const uint64_t size = elementBytes(tensor.type.dtype());
    if (roles.front() == role && tensor.isOwner(executor.mesh(), rank))
      for (const TensorRun &run : tensor.runs(executor.mesh(), rank))
        parts.push_back({&tensor, run.state * size, offset + run.whole * size,
                         run.count * size});
    offset += *byteCount(tensor.type);
  }
  return parts;
}

Status readPart(Executor &executor, const Part &part, uint64_t at, char *to,
                uint64_t bytes) {
  const FileTensor &tensor = *part.tensor;
  ZC_RETURN_IF_ERROR(executor.readState(*tensor.state, part.state + at, to,
                                        bytes, tensor.age));
  if (!allFinite(tensor.type.dtype(), {to, bytes}))
    return makeError(StatusCode::InvalidArgument, "'", tensor.name(),
                     "' has values that are infinite or not a number, so "
                     "no checkpoint was written; try a smaller --lr");
  return Status();
}

} // namespace zc::checkpoint
