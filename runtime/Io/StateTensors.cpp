#include "runtime/Io/StateTensors.h"
#include "runtime/Plan/Types.h"

#include <algorithm>

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
