// `--cluster`: a described machine, for the simulator and for a compilation.
#ifndef ZC_COMPILER_DRIVER_CLUSTERFILE_H
#define ZC_COMPILER_DRIVER_CLUSTERFILE_H

#include "compiler/Driver/Options.h"
#include "runtime/Simulate/Cluster.h"

#include <CLI/CLI.hpp>

namespace zc {

/// The machine of that name: a preset, "here", or a file. Fails with a message
/// that lists the presets where there is no such file, and with a key's path
/// where the file is no cluster.
Result<Cluster> loadCluster(const std::string &name);

/// The machine of each of the options' ranks as `#sched.machine`: products at
/// the rate of the options' precision, memory and links as one rank has them.
/// Ranks stand as they are numbered.
std::string describeMachine(const Cluster &cluster,
                            const CompileOptions &options);

/// Adds `zc compile`'s --cluster.
void addClusterOption(CLI::App &command, CompileOptions &options);

/// Lets a compilation decide by the rates of a cluster. Throws
/// CLI::ValidationError where it has other devices than the target's, or fewer
/// than the mesh has ranks.
void decideFor(const Cluster &cluster, CompileOptions &options);

/// The same for the cluster that the options name, with its kind of device.
/// Throws CLI::ValidationError where there is none of that name, too.
void compileForCluster(const CLI::App &command, CompileOptions &options);

} // namespace zc

#endif
