//===- PlanText.cpp - a plan for people -----------------------------------===//
#include "compiler/Plan/PlanReport.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using llvm::formatv;

namespace zc {
namespace {

std::string printSeconds(double seconds) {
  if (seconds >= 100)
    return formatv("{0:F1} s", seconds).str();
  if (seconds >= 0.1)
    return formatv("{0:F3} s", seconds).str();
  if (seconds >= 1e-3)
    return formatv("{0:F2} ms", seconds * 1e3).str();
  return formatv("{0:F1} us", seconds * 1e6).str();
}

std::string percent(double share) {
  return formatv("{0:F1} %", share * 100).str();
}

/// "1.23e+15" is not for people: "1.23 P".
std::string count(double number) {
  const char *units[] = {"", " K", " M", " G", " T", " P", " E", " Z"};
  size_t unit = 0;
  for (; number >= 1000 && unit + 1 < std::size(units); ++unit)
    number /= 1000;
  return formatv(unit ? "{0:F2}{1}" : "{0:F0}{1}", number, units[unit]).str();
}

std::string printMesh(const plan::Manifest &manifest) {
  std::string text;
  for (const plan::Setting &axis : manifest.mesh())
    text += (text.empty() ? "" : " x ") + axis.name() + " " + axis.value();
  return text.empty() ? "one rank" : text;
}

void printRates(llvm::raw_ostream &os, const Cluster &cluster,
                const PlanReport &report) {
  os << formatv("step              {0}, {1} if no rank waited\n",
                printSeconds(report.stepSeconds),
                printSeconds(report.idealSeconds));
  if (report.samplesPerSecond > 0)
    os << formatv("samples a second  {0}\n", count(report.samplesPerSecond));
  if (report.tokensPerSecond > report.samplesPerSecond)
    os << formatv("tokens a second   {0}, {1} a rank\n",
                  count(report.tokensPerSecond),
                  count(report.tokensPerSecond / double(report.ranks)));
  os << formatv("utilisation       {0} of the peak by the model's FLOPs (3 x "
                "the forward's products), {1} by all that are executed\n",
                percent(report.mfu), percent(report.hfu));
  if (report.stepSeconds > 0)
    os << formatv(
        "                  {0}FLOP/s of the model on each {1}\n",
        count(report.modelFlops / report.stepSeconds / double(report.ranks)),
        cluster.device.name);
  if (report.roles.size() > 1)
    os << formatv("bubble            {0} of the whole, {1} of the ideal time\n",
                  percent(report.bubbleOfTotal), percent(report.bubbleOfIdeal));
  std::string kinds;
  for (const auto &[kind, seconds] : report.computed)
    kinds += formatv("{0}{1} {2}", kinds.empty() ? "" : ", ", kind,
                     percent(seconds / report.stepSeconds));
  os << formatv("computes          {0} of the step\n", kinds);
  for (const auto &[axes, seconds] : report.exposed) {
    os << formatv("{0,-17} {1} exposed, {2} of the step", axes,
                  printSeconds(seconds), percent(seconds / report.stepSeconds));
    if (auto found = report.ways.find(axes); found != report.ways.end())
      for (const auto &[way, times] : found->second)
        os << formatv(", {0} x {1}", times, way);
    os << '\n';
  }
}

void printHostMemory(llvm::raw_ostream &os, const Cluster &cluster,
                     const PlanReport &report) {
  const HostMemory &host = report.host;
  if (host.nodeBytes == 0)
    return;
  os << formatv("host memory       {0} on a rank, {1} on the {2} rank{3} of "
                "node {4}",
                printSize(host.rankBytes), printSize(host.nodeBytes),
                host.nodeRanks, host.nodeRanks == 1 ? "" : "s", host.node);
  if (uint64_t room = cluster.hostMemoryBytes)
    os << formatv(", {0} of the node's {1}{2}",
                  percent(double(host.nodeBytes) / double(room)),
                  printSize(room), report.fitsHost ? "" : ": DOES NOT FIT");
  os << '\n';
}

void printMemory(llvm::raw_ostream &os, const Cluster &cluster,
                 const PlanReport &report) {
  const MemoryReport &most = report.roles[size_t(report.largestRole)].memory;
  os << formatv("memory            {0} on a rank of role {1}",
                printSize(most.peak), report.largestRole);
  if (uint64_t room = cluster.device.memoryBytes)
    os << formatv(", {0} of the device's {1}{2}",
                  percent(double(most.peak) / double(room)), printSize(room),
                  report.fitsDevice ? "" : ": DOES NOT FIT");
  if (most.peakIsBesideSteps)
    os << formatv(", in program '{0}'", most.peakName);
  os << '\n';
  printHostMemory(os, cluster, report);
}

void printRoles(llvm::raw_ostream &os, const PlanReport &report) {
  if (report.roles.size() < 2)
    return;
  os << "\nrole   ranks      memory    computes     exposed       waits\n";
  for (size_t i = 0; i < report.roles.size(); ++i) {
    const PlannedRole &role = report.roles[i];
    double exposed = 0;
    for (const auto &[axes, seconds] : role.times.exposed)
      exposed += seconds;
    os << formatv("{0,4} {1,7} {2,11} {3,11} {4,11} {5,11}\n", i, role.ranks,
                  printSize(role.memory.peak), printSeconds(role.times.compute),
                  printSeconds(exposed),
                  printSeconds(report.stepSeconds - role.times.called));
  }
}

void printLinks(llvm::raw_ostream &os, const PlanReport &report) {
  bool isFirst = true;
  for (const PlannedLink &link : report.links) {
    if (link.bytes == 0)
      continue;
    if (std::exchange(isFirst, false))
      os << "\nlink              sent by a rank in a step   busy\n";
    os << formatv("{0,-17} {1,24}   {2}\n", link.level,
                  printSize(uint64_t(link.bytes)),
                  link.share > 0 ? percent(link.share) : std::string("-"));
  }
}

} // namespace

std::string printPlan(const plan::Manifest &manifest, const Cluster &cluster,
                      const PlanReport &report, double tokens) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << formatv("{0}, {1} parameters, on {2} {3} ({4}): {5}\n",
                manifest.model_name(), count(report.parameters), report.ranks,
                cluster.device.name, cluster.name, printMesh(manifest));
  const auto microBatches = std::max<int64_t>(1, manifest.accumulate());
  os << formatv("batch {0}, {1} micro-batch{2}\n\n", manifest.batch(),
                microBatches, microBatches == 1 ? "" : "es");
  printRates(os, cluster, report);
  printMemory(os, cluster, report);
  for (const std::string &limit : findLimits(manifest, cluster, report))
    os << "limit             " << limit << '\n';
  if (!report.missingOptions.empty())
    os << formatv("zc compile        makes it with these options and {0}\n",
                  report.missingOptions);
  if (tokens > 0 && report.tokensPerSecond > 0)
    os << formatv("{0} tokens take {1:F2} days\n", count(tokens),
                  tokens / report.tokensPerSecond / 86400);
  printRoles(os, report);
  printLinks(os, report);
  if (report.servers)
    os << printServers(*report.servers);
  return os.str();
}

} // namespace zc
