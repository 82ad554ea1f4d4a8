// The library calls of programs before memory is there.
#ifndef ZC_RUNTIME_EXEC_CALLLAUNCHES_H
#define ZC_RUNTIME_EXEC_CALLLAUNCHES_H

#include "runtime/Device/Device.h"
#include "runtime/Plan/Artifact.h"

#include <string>
#include <vector>

namespace zc {

/// The launches of the artifact's role in the named programs, in their order,
/// with addresses that nobody may use; programs that the role does not have are
/// skipped.
std::vector<Launch> launchesOfCalls(const Artifact &artifact,
                                    const std::vector<std::string> &programs);

} // namespace zc

#endif // ZC_RUNTIME_EXEC_CALLLAUNCHES_H
