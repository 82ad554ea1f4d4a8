//===- PlanLimits.cpp - why a layout works badly, or not at all -----------===//
//
// The limits at which each kind of parallelism ends (Rajbhandari et al. 2020,
// section 2): data parallelism where a rank cannot hold what is not divided,
// tensor parallelism where sums take longer than products, pipelines where the
// first stages hold too many micro-batches, all where one layer is too large.
//
//===----------------------------------------------------------------------===//
#include "compiler/Plan/PlanReport.h"

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

/// A class of memory that no rank along dp shares with another says which
/// stage of ZeRO would divide it.
std::string explainStates(const plan::Manifest &manifest,
                          plan::MemoryClass most) {
  const int64_t holders = sizeOf(manifest, "dp") * sizeOf(manifest, "sp");
  const int stage = most == plan::OPTIMIZER_STATE ? 1
                    : most == plan::GRADIENTS     ? 2
                                                  : 3;
  const std::string zero = settingOf(manifest, "zero");
  if (holders > 1 && std::atoi(zero.c_str()) < stage)
    return formatv("each of {0} ranks holds them whole; --zero {1} divides "
                   "them",
                   holders, stage)
        .str();
  return "more ranks (--mesh), or --offload optimizer,parameters";
}

std::string explainActivations(const plan::Manifest &manifest,
                               const PlanReport &report) {
  const MemoryReport &memory = report.roles[size_t(report.largestRole)].memory;
  if (report.roles.size() > 1 && memory.flightBytes > 0)
    return formatv("role {0} holds those of the micro-batches under way, the "
                   "first stages the most; --recompute layer, or --schedule "
                   "1f1b with more micro-batches",
                   report.largestRole)
        .str();
  return manifest.accumulate() > 1
             ? "--recompute layer, or more micro-batches (--accumulate)"
             : "--recompute layer, or micro-batches (--accumulate)";
}

std::string explainMemory(const plan::Manifest &manifest,
                          const Cluster &cluster, const PlanReport &report) {
  const MemoryReport &memory = report.roles[size_t(report.largestRole)].memory;
  const auto found =
      std::max_element(memory.atPeak.begin(), memory.atPeak.end());
  if (memory.flightBytes > *found)
    return formatv("memory: {0} of {1} are {2} of activations: {3}",
                   printSize(memory.peak),
                   printSize(cluster.device.memoryBytes),
                   printSize(memory.flightBytes),
                   explainActivations(manifest, report))
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
    way = "a layer that is gathered whole is too large; --unit with fewer "
          "bytes, or tp, which divides layers";
    break;
  case plan::WORKSPACE:
    way = "fewer --cpu-threads, or --libraries none";
    break;
  default:
    way = explainActivations(manifest, report);
  }
  return formatv("memory: {0} of {1} are {2} of {3}: {4}",
                 printSize(memory.peak), printSize(cluster.device.memoryBytes),
                 printSize(*found), nameOf(most), way)
      .str();
}

} // namespace

std::vector<std::string> findLimits(const plan::Manifest &manifest,
                                    const Cluster &cluster,
                                    const PlanReport &report) {
  std::vector<std::string> limits;
  if (!report.fits)
    limits.push_back(explainMemory(manifest, cluster, report));
  double computed = 0;
  for (const auto &[kind, seconds] : report.computed)
    computed += seconds;
  for (const auto &[axes, seconds] : report.exposed)
    if (seconds > computed)
      limits.push_back(
          formatv("{0}: a rank waits {1:F3} ms for it and computes {2:F3} ms: "
                  "fewer ranks along it, more samples, or faster links",
                  axes, seconds * 1e3, computed * 1e3)
              .str());
  return limits;
}

} // namespace zc
