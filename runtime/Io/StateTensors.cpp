#include "runtime/Io/StateTensors.h"
#include "runtime/Plan/Types.h"

#include <algorithm>
#include <cstring>

namespace zc {

Status readTensor(Executor &executor, const FileTensor &tensor, char *bytes) {
  const uint64_t size = elementBytes(tensor.type.dtype());
  for (const TensorRun &run :
       tensor.runs(executor.mesh(), executor.world().rank()))
    ZC_RETURN_IF_ERROR(executor.readState(*tensor.state, run.state * size,
                                          bytes + run.whole * size,
                                          run.count * size, tensor.age));
  return Status();
}

/// Tells all ranks the runs of elements that rank `root` has.
static Status spreadRuns(Executor &executor, const FileTensor &tensor, int root,
                         char *bytes) {
  World &world = executor.world();
  const uint64_t size = elementBytes(tensor.type.dtype());
  std::string packed;
  for (const TensorRun &run : tensor.runs(executor.mesh(), root)) {
    packed.resize(run.count * size);
    if (world.rank() == root)
      ZC_RETURN_IF_ERROR(executor.readState(*tensor.state, run.state * size,
                                            packed.data(), packed.size(),
                                            tensor.age));
    ZC_RETURN_IF_ERROR(
        world.all().broadcast(packed.data(), packed.size(), root));
    std::memcpy(bytes + run.whole * size, packed.data(), packed.size());
  }
  return Status();
}

Status gatherTensor(Executor &executor, const HeldTensor &held, char *bytes) {
  World &world = executor.world();
  const Mesh &mesh = executor.mesh();
  if (world.size() == 1)
    return readTensor(executor, held.tensor, bytes);
  for (int rank = 0; rank < world.size(); ++rank)
    if (mesh.role(rank) == held.roles.front() &&
        held.tensor.isOwner(mesh, rank))
      ZC_RETURN_IF_ERROR(spreadRuns(executor, held.tensor, rank, bytes));
  return Status();
}

Status writeTensor(Executor &executor, const FileTensor &tensor,
                   const char *bytes) {
  const uint64_t size = elementBytes(tensor.type.dtype());
  const uint32_t versions =
      hasVersions(*tensor.state) ? std::max(1u, executor.role().versions()) : 1;
  for (const TensorRun &run :
       tensor.runs(executor.mesh(), executor.world().rank()))
    for (uint32_t age = 0; age < versions; ++age)
      ZC_RETURN_IF_ERROR(executor.writeState(*tensor.state, run.state * size,
                                             bytes + run.whole * size,
                                             run.count * size, age));
  return Status();
}

} // namespace zc
