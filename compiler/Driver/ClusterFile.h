// `zc compile --cluster`: a described machine that a compilation decides by.
#ifndef ZC_COMPILER_DRIVER_CLUSTERFILE_H
#define ZC_COMPILER_DRIVER_CLUSTERFILE_H

#include "compiler/Driver/Options.h"
#include "runtime/Simulate/Cluster.h"

#include <CLI/CLI.hpp>

namespace zc {

/// Adds `zc compile`'s --cluster.
void addClusterOption(CLI::App &command, CompileOptions &options);

/// Lets a compilation decide by the rates of the cluster of that name. Throws
/// CLI::ValidationError where it has other devices than the target's, or fewer
/// than the mesh has ranks.
void decideFor(const std::string &name, const Cluster &cluster,
               CompileOptions &options);

/// The same for the cluster that the options name, with its kind of device.
/// Returns the exit code: 1, with a message, where there is none of that name,
/// or its file cannot be read.
int compileForCluster(const CLI::App &command, CompileOptions &options);

} // namespace zc

#endif
