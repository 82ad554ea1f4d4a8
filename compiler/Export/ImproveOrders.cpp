//===- ImproveOrders.cpp - orders for the stages as they came out ---------===//
#include "compiler/Export/ImproveOrders.h"

#include "compiler/Export/Inspect.h"
#include "runtime/Plan/Order/BuildOrders.h"
#include "runtime/Plan/Order/ListSchedule.h"

#include <algorithm>

namespace zc {
namespace {

// Costs are estimates: an order that saves less is kept as published.
constexpr double kLeastGain = 0.005;

struct Candidate {
  PipelineSchedule schedule;
  double makespan;
};

/// The candidates that are faster than the published one, the fastest first.
std::vector<Candidate> listCandidates(const PipelineSchedule &published,
                                      const WorkCosts &costs) {
  std::vector<Candidate> faster;
  Result<Timeline> before = simulateSchedule(published, costs);
  if (!before.ok())
    return faster;
  const auto roles = uint32_t(published.roles.size());
  // A list that knows the costs is greedy: the one of equal stages may be
  // better even where they are not.
  const WorkCosts equal =
      WorkCosts::equal(published.roleOfStage.size(), 1, 1, 1);
  for (uint32_t inFlight = roles; inFlight < 2 * roles; ++inFlight)
    for (const WorkCosts *assumed : {&costs, &equal}) {
      Candidate candidate;
      candidate.schedule =
          listSchedule(published.roleOfStage, roles, published.microBatches,
                       *assumed, inFlight);
      Result<Timeline> timeline = simulateSchedule(candidate.schedule, costs);
      if (!timeline.ok())
        continue;
      candidate.makespan = timeline->makespan;
      if (candidate.makespan < before->makespan * (1 - kLeastGain))
        faster.push_back(std::move(candidate));
    }
  std::stable_sort(faster.begin(), faster.end(),
                   [](const Candidate &a, const Candidate &b) {
                     return a.makespan < b.makespan;
                   });
  return faster;
}

} // namespace

Status improveOrders(plan::Manifest &manifest,
                     const PipelineSchedule &published, uint64_t budget) {
  std::optional<WorkCosts> costs = measureWorkCosts(manifest);
  if (!costs)
    return Status();
  for (const Candidate &candidate : listCandidates(published, *costs)) {
    plan::Manifest improved = manifest;
    OrderOptions options;
    options.schedule = "zero-bubble";
    options.microBatches = published.microBatches;
    options.given = &candidate.schedule;
    // Skips over stages may need another order of messages than this one's.
    if (!buildOrders(improved, options).ok() ||
        (budget > 0 && measureMemory(improved).peak > budget))
      continue;
    manifest = std::move(improved);
    return Status();
  }
  return Status();
}

} // namespace zc
