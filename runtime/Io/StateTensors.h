// Whole tensors of states, in the host's memory.
#ifndef ZC_RUNTIME_IO_STATETENSORS_H
#define ZC_RUNTIME_IO_STATETENSORS_H

#include "runtime/Exec/Executor.h"
#include "runtime/Plan/RoleTensors.h"

namespace zc {

/// Copies a tensor, of which this rank has all, to `bytes`.
Status readTensor(Executor &executor, const FileTensor &tensor, char *bytes);

/// The same where ranks divide it, or those of other roles have it: all get the
/// whole. Called by all ranks.
Status gatherTensor(Executor &executor, const HeldTensor &held, char *bytes);

/// Copies what this rank has of a tensor from the whole one at `bytes`, into
/// every version of it.
Status writeTensor(Executor &executor, const FileTensor &tensor,
                   const char *bytes);

} // namespace zc

#endif // ZC_RUNTIME_IO_STATETENSORS_H
