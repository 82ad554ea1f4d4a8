//===- ServerPlan.h - a step with parameter servers -------------*- C++ -*-===//
//
// The time of a data-parallel plan's step if gradients went to parameter
// servers, which zc run does not have, instead of being summed among the ranks.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_COMPILER_PLAN_SERVERPLAN_H
#define ZC_COMPILER_PLAN_SERVERPLAN_H

#include "runtime/Plan/Manifest.pb.h"
#include "runtime/Simulate/ParameterServers.h"

#include <map>
#include <string>

namespace zc {

struct ServerOptions {
  int64_t servers = 0; // 0: not asked for
  bool isAsynchronous = false;
  std::map<int64_t, double> stragglers; // by rank, as SimulationOptions
};

struct ServerPlan {
  ServedTraining training;
  ServedTimes times;
};

/// More workers than that take too long to simulate.
constexpr int64_t kMostWorkers = 1024;

/// The ranks of the plan are workers. They compute all of the step but its
/// collectives and what belongs to the optimizer, which servers do; parameters
/// and gradients are as large as the plan's parameters. Fails with
/// InvalidArgument where ranks divide more than samples: other axes than dp,
/// ZeRO; and as simulateServers() does.
Result<ServerPlan> planServers(const plan::Manifest &manifest,
                               const Cluster &cluster,
                               const ServerOptions &options);

/// For people.
std::string printServers(const ServerPlan &plan);

} // namespace zc

#endif // ZC_COMPILER_PLAN_SERVERPLAN_H
