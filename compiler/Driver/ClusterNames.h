// Described clusters by the names that options have for them.
#ifndef ZC_COMPILER_DRIVER_CLUSTERNAMES_H
#define ZC_COMPILER_DRIVER_CLUSTERNAMES_H

#include "runtime/Base/Status.h"
#include "runtime/Simulate/Cluster.h"

#include <string>

namespace zc {

/// The cluster of that name: a preset, "here", or a file. Fails with a message
/// that lists the presets where there is no such file, and with a key's path
/// where the file is no cluster.
Result<Cluster> loadCluster(const std::string &name);

/// Where the cluster "here" is: in $XDG_CACHE_HOME/zc, or ~/.cache/zc. Fails
/// where neither is known.
Result<std::string> hereFile();

} // namespace zc

#endif
