#include "compiler/Driver/ClusterFile.h"

#include "compiler/Driver/ClusterNames.h"
#include "compiler/Driver/Diagnostics.h"

#include "llvm/ADT/StringExtras.h"

using namespace zc;

void zc::addClusterOption(CLI::App &command, CompileOptions &options) {
  command
      .add_option("--cluster", options.cluster,
                  "the machines that the artifact is for: a file, or one of " +
                      llvm::join(listPresets(), ", ") +
                      ", here; rates and links there decide what overlaps, how "
                      "far ahead gathers begin, where stages are cut and what "
                      "is computed again. By default usual-cpu, or usual-gpu "
                      "with --target cuda")
      ->type_name("FILE|PRESET");
}

void zc::decideFor(const std::string &name, const Cluster &cluster,
                   CompileOptions &options) {
  const std::string &device = cluster.device.target;
  if (options.target != device)
    throw CLI::ValidationError(
        "--cluster", "'" + cluster.name + "' has devices of --target " +
                         device + ", not " + options.target);
  if (options.getNumRanks() > cluster.size())
    throw CLI::ValidationError("--cluster",
                               "'" + cluster.name + "' has room for " +
                                   std::to_string(cluster.size()) +
                                   " ranks, fewer than the mesh's " +
                                   std::to_string(options.getNumRanks()));
  options.cluster = name;
}

int zc::compileForCluster(const CLI::App &command, CompileOptions &options) {
  if (options.cluster.empty())
    return 0;
  Result<Cluster> cluster = loadCluster(options.cluster);
  if (!cluster.ok())
    return reportError(cluster.status().message());
  if (command.count("--target") == 0)
    options.target = cluster->device.target;
  decideFor(options.cluster, *cluster, options);
  return 0;
}
