// Clusters for tests.
#ifndef ZC_TEST_UNIT_RUNTIME_SIMULATE_CLUSTERS_H
#define ZC_TEST_UNIT_RUNTIME_SIMULATE_CLUSTERS_H

#include "runtime/Simulate/Cluster.h"

namespace zc::test {

/// Devices of 1 FLOP/s on levels of these sizes, bandwidths and latencies.
inline Cluster cluster(const std::vector<LinkLevel> &levels) {
  Cluster cluster;
  cluster.name = "test";
  cluster.device.name = "test";
  for (double &rate : cluster.device.flopsPerSecond)
    rate = 1;
  cluster.levels = levels;
  return cluster;
}

/// Nothing that is sent takes time.
inline Cluster idealCluster() { return cluster({{"links", 1 << 20, 0, 0}}); }

} // namespace zc::test

#endif // ZC_TEST_UNIT_RUNTIME_SIMULATE_CLUSTERS_H
