//===- PlanLimits.cpp - why a layout works badly, or not at all -----------===//
//
// The limits at which each kind of parallelism ends (Rajbhandari et al. 2020,
// section 2): data parallelism where a rank cannot hold what is not divided,
// tensor parallelism where sums take longer than products, pipelines where the
// first stages hold too many micro-batches, all where one layer is too large.
//
//===----------------------------------------------------------------------===//
#include "compiler/Plan/PlanReport.h"

#include "runtime/Plan/Axes.h"
#include "runtime/Plan/Target.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using llvm::formatv;

namespace zc {
namespace {

const char *nameOf(plan::MemoryClass memoryClass) {
  switch (memoryClass) {
  case plan::PARAMETERS:
    return "parameters";
  case plan::GRADIENTS:
    return "gradients";
  case plan::OPTIMIZER_STATE:
    return "the optimizer's states";
  case plan::COMMUNICATION:
    return "gathered units and buckets";
  case plan::WORKSPACE:
    return "libraries' workspaces";
  default:
    return "activations";
  }
}

std::string settingOf(const plan::Manifest &manifest, const std::string &name) {
  for (const plan::Setting &setting : manifest.settings())
    if (setting.name() == name)
      return setting.value();
  return "";
}

int64_t sizeOf(const plan::Manifest &manifest, const std::string &axis) {
  for (const plan::Setting &setting : manifest.mesh())
    if (setting.name() == axis)
      return std::stol(setting.value());
  return 1;
}

std::string join(const std::vector<std::string> &ways) {
  std::string text;
  for (size_t i = 0; i < ways.size(); ++i)
    text += (i == 0 ? "" : i + 1 == ways.size() ? ", or " : ", ") + ways[i];
  return text;
}

/// Whether this class of states may go to a second memory, and has not yet.
bool mayOffload(const plan::Manifest &manifest, const std::string &name) {
  const std::string schedule = settingOf(manifest, "schedule");
  return settingOf(manifest, "offload").find(name) == std::string::npos &&
         schedule != "2bw" && schedule != "stash";
}

/// A class of memory that no rank along dp shares with another says which
/// stage of ZeRO would divide it.
std::string explainStates(const plan::Manifest &manifest,
                          plan::MemoryClass most) {
  const int64_t holders =
      sizeOf(manifest, axes::kSample) * sizeOf(manifest, axes::kToken);
  const int stage = most == plan::OPTIMIZER_STATE ? 1
                    : most == plan::GRADIENTS     ? 2
                                                  : 3;
  const std::string zero = settingOf(manifest, "zero");
  if (holders > 1 && std::atoi(zero.c_str()) < stage &&
      manifest.optimizer() != "onebit-adam")
    return formatv("each of {0} ranks holds them whole; --zero {1} divides "
                   "them",
                   holders, stage)
        .str();
  std::vector<std::string> ways = {"more ranks that divide them (--mesh)"};
  const std::string offloaded = most == plan::OPTIMIZER_STATE ? "optimizer"
                                : most == plan::PARAMETERS    ? "parameters"
                                                              : "";
  if (!offloaded.empty() && mayOffload(manifest, offloaded))
    ways.push_back("--offload " + offloaded);
  return join(ways);
}

/// The samples of a micro-batch that each rank has.
int64_t samplesOfRank(const plan::Manifest &manifest) {
  const int64_t parts = sizeOf(manifest, axes::kSample) *
                        sizeOf(manifest, axes::kExpert) *
                        std::max<int64_t>(1, manifest.accumulate());
  return manifest.batch() / parts;
}

std::string explainActivations(const plan::Manifest &manifest,
                               const PlanReport &report) {
  const MemoryReport &memory = report.roles[size_t(report.largestRole)].memory;
  std::vector<std::string> ways;
  const std::string recompute = settingOf(manifest, "recompute");
  if (recompute.empty() || recompute == "none")
    ways.push_back("--recompute layer");
  const bool isPipeline = report.roles.size() > 1 && memory.flightBytes > 0;
  if (isPipeline && settingOf(manifest, "schedule") == "gpipe")
    ways.push_back("--schedule 1f1b");
  if (samplesOfRank(manifest) > 1)
    ways.push_back("more and smaller micro-batches (--accumulate)");
  if (ways.empty())
    ways.push_back("more ranks along tp or sp, which divide them (--mesh)");
  if (isPipeline)
    return formatv("role {0} holds those of the micro-batches under way, the "
                   "first stages the most; {1}",
                   report.largestRole, join(ways))
        .str();
  return join(ways);
}

std::string explainBuffers(const plan::Manifest &manifest) {
  if (settingOf(manifest, "zero") == "3")
    return "a layer that is gathered whole is too large; --unit with fewer "
           "bytes, or tp, which divides layers";
  if (sizeOf(manifest, axes::kSample) * sizeOf(manifest, axes::kExpert) *
          sizeOf(manifest, axes::kToken) * sizeOf(manifest, axes::kTensor) >
      1)
    return "gradients wait there to be sent together; a smaller --bucket-mib";
  return "smaller micro-batches (--accumulate)";
}

std::string explainWorkspaces(const plan::Manifest &manifest) {
  return runsOnHost(manifest.target())
             ? "fewer --cpu-threads, or --libraries none"
             : "--libraries none";
}

std::string explainMemory(const plan::Manifest &manifest,
                          const Cluster &cluster, const PlanReport &report) {
  const MemoryReport &memory = report.roles[size_t(report.largestRole)].memory;
  const auto found =
      std::max_element(memory.atPeak.begin(), memory.atPeak.end());
  const std::string program =
      memory.peakIsBesideSteps ? ", in program '" + memory.peakName + "'," : "";
  if (memory.flightBytes > *found)
    return formatv("memory: {0} of {1}{4} are {2} of activations: {3}",
                   printSize(memory.peak),
                   printSize(cluster.device.memoryBytes),
                   printSize(memory.flightBytes),
                   explainActivations(manifest, report), program)
        .str();
  const auto most = plan::MemoryClass(found - memory.atPeak.begin());
  std::string way;
  switch (most) {
  case plan::PARAMETERS:
  case plan::GRADIENTS:
  case plan::OPTIMIZER_STATE:
    way = explainStates(manifest, most);
    break;
  case plan::COMMUNICATION:
    way = explainBuffers(manifest);
    break;
  case plan::WORKSPACE:
    way = explainWorkspaces(manifest);
    break;
  default:
    way = explainActivations(manifest, report);
  }
  return formatv("memory: {0} of {1}{5} are {2} of {3}: {4}",
                 printSize(memory.peak), printSize(cluster.device.memoryBytes),
                 printSize(*found), nameOf(most), way, program)
      .str();
}

/// Ranks of a node offload too much together.
std::string explainHostMemory(const plan::Manifest &manifest,
                              const Cluster &cluster,
                              const PlanReport &report) {
  const HostMemory &host = report.host;
  std::vector<std::string> ways;
  const std::string zero = settingOf(manifest, "zero");
  if (sizeOf(manifest, axes::kSample) > 1 && std::atoi(zero.c_str()) == 0 &&
      manifest.optimizer() != "onebit-adam")
    ways.push_back("--zero 1, which divides the optimizer's states");
  ways.push_back(settingOf(manifest, "offload").empty()
                     ? "a larger --memory-budget"
                     : "less in --offload");
  ways.push_back("more nodes that divide the step (--mesh)");
  return formatv("host memory: {0} of {1} of a node are for what {2} rank{3} "
                 "offload{4} there: {5}",
                 printSize(host.nodeBytes), printSize(cluster.hostMemoryBytes),
                 host.nodeRanks, host.nodeRanks == 1 ? "" : "s",
                 host.nodeRanks == 1 ? "s" : "", join(ways))
      .str();
}

/// Whether weights would not fit even if there were nothing else; empty if they
/// would.
std::string explainWeights(const plan::Manifest &manifest,
                           const Cluster &cluster, const PlanReport &report) {
  uint64_t most = 0;
  for (const auto &role : report.roles)
    most = std::max<uint64_t>(most, role.memory.classes[plan::PARAMETERS]);
  const uint64_t room = cluster.device.memoryBytes;
  if (room == 0 || most <= room)
    return "";
  return formatv("weights: a rank's alone take {0}, before gradients, moments "
                 "and activations, and a device has {1}: {2}",
                 printSize(most), printSize(room),
                 explainStates(manifest, plan::PARAMETERS))
      .str();
}

/// A way out where a rank waits longer than it computes, for axes of the mesh,
/// whose names `waited` has, or for copies of what is offloaded. Empty where
/// none is known.
std::string explainWait(const plan::Manifest &manifest,
                        const std::string &waited) {
  if (waited == "offload")
    return settingOf(manifest, "offload").empty()
               ? "a larger --memory-budget"
               : "less in --offload, or more samples in a step (--batch)";
  const std::string first = waited.substr(0, waited.find(','));
  if (sizeOf(manifest, first) == 1)
    return "";
  return "fewer ranks along it, more samples (--batch), or faster links";
}

} // namespace

std::vector<std::string> findLimits(const plan::Manifest &manifest,
                                    const Cluster &cluster,
                                    const PlanReport &report) {
  std::vector<std::string> limits;
  if (std::string weights = explainWeights(manifest, cluster, report);
      !weights.empty())
    limits.push_back(std::move(weights));
  if (!report.fitsDevice)
    limits.push_back(explainMemory(manifest, cluster, report));
  if (!report.fitsHost)
    limits.push_back(explainHostMemory(manifest, cluster, report));
  double computed = 0;
  for (const auto &[kind, seconds] : report.computed)
    computed += seconds;
  for (const auto &[waited, seconds] : report.exposed)
    if (std::string way = explainWait(manifest, waited);
        seconds > computed && !way.empty())
      limits.push_back(
          formatv("{0}: a rank waits {1:F3} ms for it and computes {2:F3} ms: "
                  "{3}",
                  waited, seconds * 1e3, computed * 1e3, way)
              .str());
  return limits;
}

} // namespace zc
