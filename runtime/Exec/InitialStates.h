// Initial values of a rank's states that no program computes.
#ifndef ZC_RUNTIME_EXEC_INITIALSTATES_H
#define ZC_RUNTIME_EXEC_INITIALSTATES_H

#include "runtime/Exec/Executor.h"

namespace zc {

/// Writes this rank's part of the artifact's weights.
Status loadWeights(Executor &executor);

/// Writes where the rank stands along the mesh's axes into the states that tell
/// programs.
Status writeCoordinates(Executor &executor);

} // namespace zc

#endif // ZC_RUNTIME_EXEC_INITIALSTATES_H
