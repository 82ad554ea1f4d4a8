//===- PlanReport.h - what a step costs on a described cluster --*- C++ -*-===//
//
// `zc plan`: time from the simulation of the orders, memory and traffic from
// the manifest as `zc inspect` counts them.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_COMPILER_PLAN_PLANREPORT_H
#define ZC_COMPILER_PLAN_PLANREPORT_H

#include "compiler/Export/Inspect.h"
#include "compiler/Plan/HostMemory.h"
#include "compiler/Plan/ServerPlan.h"
#include "runtime/Simulate/Simulation.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace zc {

/// A role of the plan; its ranks are equal.
struct PlannedRole {
  int64_t ranks = 1;
  MemoryReport memory;
  SimulatedRole times;
};

/// How busy a level's links are: the rank that sends most over it.
struct PlannedLink {
  std::string level;
  double bytes = 0; // a step
  double share = 0; // of what it could send meanwhile; 0 where that is no limit
};

struct PlanReport {
  double stepSeconds = 0;
  /// Seconds of the computation if divided equally among all ranks.
  double idealSeconds = 0;
  double samplesPerSecond = 0; // 0: no input counts samples
  double tokensPerSecond = 0;  // labels per second; 0: there are none
  /// The share of the peak of the type of most products that is used by FLOPs
  /// that the model needs (three times the products of its forward, or all if
  /// that is less), and by all products executed, recomputation included.
  double mfu = 0, hfu = 0;
  double modelFlops = 0, executedFlops = 0; // a step, of all ranks
  double bubbleOfTotal = 0, bubbleOfIdeal = 0;
  /// Seconds by axes in which the main stream of the slowest role waits.
  std::map<std::string, double> exposed;
  /// Seconds in which it computes, by kinds of instructions ("matmul").
  std::map<std::string, double> computed;
  int64_t ranks = 1;
  double parameters = 0; // elements of trained tensors, each once
  std::vector<PlannedRole> roles;
  int largestRole = 0; // by peak of memory
  std::vector<PlannedLink> links;
  CommReport traffic;
  /// For the role of `traffic`, by axes: how many of a step's collectives are
  /// simulated by which algorithm, where the plan leaves that open.
  std::map<std::string, std::map<std::string, uint64_t>> ways;
  HostMemory host; // nothing where the second memory is a file
  bool fitsDevice = true, fitsHost = true; // into their memory
  bool fits() const { return fitsDevice && fitsHost; }
  SimulatedStep simulated;
  std::optional<ServerPlan> servers; // where they are asked for
  /// The options, besides those given, with which `zc compile` makes the
  /// program: "--cluster h100-dgx".
  std::string missingOptions;
};

/// Simulates a verified manifest's step. Fails where the cluster is too small,
/// and where there is nothing to train.
Result<PlanReport> planStep(const plan::Manifest &manifest,
                            const Cluster &cluster,
                            const SimulationOptions &options = {});

/// The limits that a layout meets, each with a way out: memory that does not
/// suffice, and axes along which a rank waits longer than it computes.
std::vector<std::string> findLimits(const plan::Manifest &manifest,
                                    const Cluster &cluster,
                                    const PlanReport &report);

/// For people. `tokens`: how many are to be trained on; 0: not asked.
std::string printPlan(const plan::Manifest &manifest, const Cluster &cluster,
                      const PlanReport &report, double tokens);

/// The JSON of `zc plan --json`: {"plan": {...}}, sizes in bytes, seconds.
std::string planAsJson(const plan::Manifest &manifest, const Cluster &cluster,
                       const PlanReport &report, double tokens);

/// Streams and messages of each role as Chrome's trace viewer reads them.
std::string planAsTimeline(const plan::Manifest &manifest,
                           const PlanReport &report);

/// The step as one page that needs no other file: the text of printPlan(), the
/// streams and messages of each role over time, and its memory. Needs spans.
std::string planAsHtml(const plan::Manifest &manifest, const Cluster &cluster,
                       const PlanReport &report, double tokens);

} // namespace zc

#endif // ZC_COMPILER_PLAN_PLANREPORT_H
