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
  if (Status status = cluster.checkDevices(options.target); !status.ok())
    throw CLI::ValidationError("--cluster", status.message() + " (--target)");
  if (Status status = cluster.checkRoom(options.getNumRanks()); !status.ok())
    throw CLI::ValidationError("--cluster", status.message());
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
