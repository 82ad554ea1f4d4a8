#include "runtime/Io/Copies.h"
#include "runtime/Plan/RoleTensors.h"
#include "runtime/Plan/Types.h"

#include <algorithm>
#include <cstring>

namespace zc {
namespace {

bool isTrainedState(const plan::State &state) {
  return isModelState(state) ||
         (state.kind() == plan::OPTIMIZER && !state.per_rank());
}

/// Spreads the bits of an element over a sum (splitmix64's finish).
uint64_t mix(uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

/// The sum over elements of a hash of place and value: the ranks' sums add up
/// to that of the whole, however it is divided.
uint64_t sumOf(std::string_view bytes, uint64_t size, uint64_t place) {
  uint64_t sum = 0;
  for (uint64_t at = 0; at < bytes.size(); at += size, ++place) {
    uint64_t value = 0;
    std::memcpy(&value, bytes.data() + at, size);
    sum += mix(value + mix(place + 1));
  }
  return sum;
}

/// The checksum of this rank's part; 0 if an earlier rank has it, too.
Result<uint64_t> sumOwnPart(Executor &executor, const FileTensor &tensor) {
  constexpr uint64_t kChunk = 1 << 20; // elements
  const int rank = executor.world().rank();
  if (!tensor.isOwner(executor.mesh(), rank))
    return 0;
  const uint64_t size = elementBytes(tensor.type.dtype());
  std::string chunk;
  uint64_t sum = 0;
  for (const TensorRun &run : tensor.runs(executor.mesh(), rank))
    for (uint64_t at = 0; at < run.count; at += kChunk) {
      chunk.resize(std::min(kChunk, run.count - at) * size);
      ZC_RETURN_IF_ERROR(executor.readState(
          *tensor.state, (run.state + at) * size, chunk.data(), chunk.size()));
      sum += sumOf(chunk, size, run.whole + at);
    }
  return sum;
}

/// Checksums of this rank's parts of each tensor; 0 for other roles' tensors.
Result<std::vector<uint64_t>>
sumOwnParts(Executor &executor, const std::vector<HeldTensor> &shared) {
  std::vector<uint64_t> sums(shared.size());
  for (const plan::State &state : executor.artifact().role().states()) {
    if (!isTrainedState(state))
      continue;
    for (const FileTensor &tensor : fileTensorsOf(state))
      for (size_t i = 0; i < shared.size(); ++i)
        if (shared[i].tensor.name() == tensor.name()) {
          ZC_ASSIGN_OR_RETURN(sums[i], sumOwnPart(executor, tensor));
        }
  }
  return sums;
}

} // namespace

Status checkCopies(Executor &executor) {
  std::vector<HeldTensor> shared =
      tensorsOfRoles(executor.artifact().manifest(), isTrainedState);
  shared.erase(std::remove_if(shared.begin(), shared.end(),
                              [](const HeldTensor &held) {
                                return held.roles.size() < 2;
                              }),
               shared.end());
  if (shared.empty())
    return Status();
  World &world = executor.world();
  Result<std::vector<uint64_t>> mine = sumOwnParts(executor, shared);
  ZC_RETURN_IF_ERROR(world.agree(mine.status()));
  const size_t count = shared.size();
  std::vector<uint64_t> all(count * size_t(world.size()));
  ZC_RETURN_IF_ERROR(world.all().allGather(mine->data(), all.data(),
                                           count * sizeof(uint64_t)));
  const int roles = executor.artifact().manifest().roles_size();
  std::vector<uint64_t> sums(count * size_t(roles));
  for (int rank = 0; rank < world.size(); ++rank)
    for (size_t i = 0; i < count; ++i)
      sums[size_t(executor.mesh().role(rank)) * count + i] +=
          all[size_t(rank) * count + i];
  for (size_t i = 0; i < count; ++i)
    for (int role : shared[i].roles)
      if (const int first = shared[i].roles.front();
          sums[size_t(role) * count + i] != sums[size_t(first) * count + i])
        return world.agree(makeError(
            StatusCode::Internal, "the copies of '", shared[i].tensor.name(),
            "' of pipeline stages ", first, " and ", role,
            " have come to differ, so no checkpoint was written"));
  return Status();
}

} // namespace zc
