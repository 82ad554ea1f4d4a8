// Parameter servers in simulated time (Li et al. 2014): workers pull the
// parameters, compute, and push gradients; servers update what each holds.
#ifndef ZC_RUNTIME_SIMULATE_PARAMETERSERVERS_H
#define ZC_RUNTIME_SIMULATE_PARAMETERSERVERS_H

#include "runtime/Simulate/Cluster.h"

#include <cstdint>
#include <vector>

namespace zc {

struct ServedTraining {
  /// Workers stand on the first devices, servers on those behind them; each
  /// server holds an equal share of all parameters.
  int64_t workers = 1, servers = 1;
  double parameterBytes = 0, gradientBytes = 0;
  double computeSeconds = 0; // of a worker, between pull and push
  double updateSeconds = 0;  // of all parameters; each server has its share
  /// Bulk synchronous: servers update once with the gradients of all workers,
  /// which wait for that. Asynchronous: they update with what comes, one after
  /// another, and a worker waits for its own alone.
  bool isAsynchronous = false;
  /// By worker: how many times as long it computes; empty: all take as long.
  std::vector<double> slowdown;
};

/// In the midst of a long run.
struct ServedTimes {
  double updatesPerSecond = 0; // gradients of a worker that are applied
  double stepSeconds = 0;      // in which as many are as there are workers
  /// Updates of others between a worker's pull and its own update.
  double meanStaleness = 0, mostStaleness = 0;
  /// The bytes that the busiest of them sends and receives in such a step.
  double serverBytes = 0, workerBytes = 0;
};

/// With servers of link rate b, latency a, W workers, S servers, n bytes of
/// parameters and g of gradients, all workers alike, bulk synchronous:
///   a + max(1, W/S) n/b + compute + a + max(1, W/S) g/b + update / S
/// Fails with InvalidArgument where the cluster has too few devices, and where
/// workers compute for no time.
Result<ServedTimes> simulateServers(const Cluster &cluster,
                                    const ServedTraining &training);

} // namespace zc

#endif // ZC_RUNTIME_SIMULATE_PARAMETERSERVERS_H
