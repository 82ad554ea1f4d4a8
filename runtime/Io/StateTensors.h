// Whole tensors of one rank's states, in the host's memory.
#ifndef ZC_RUNTIME_IO_STATETENSORS_H
#define ZC_RUNTIME_IO_STATETENSORS_H

#include "runtime/Exec/Executor.h"

namespace zc {

/// Copies a tensor, of which this rank has all, to `bytes`.
Status readTensor(Executor &executor, const FileTensor &tensor, char *bytes);

/// Copies what this rank has of a tensor from the whole one at `bytes`, into
/// every version of it.
Status writeTensor(Executor &executor, const FileTensor &tensor,
                   const char *bytes);

} // namespace zc

#endif // ZC_RUNTIME_IO_STATETENSORS_H
