#include "runtime/Simulate/ParameterServers.h"
#include "test/unit/runtime/Simulate/Clusters.h"

#include <gtest/gtest.h>

namespace zc {
namespace {

using namespace test;

constexpr double kRate = 100, kLatency = 3, kCompute = 50, kUpdate = 8;

ServedTraining training(int64_t workers, int64_t servers) {
  ServedTraining each;
  each.workers = workers;
  each.servers = servers;
  each.parameterBytes = 1200;
  each.gradientBytes = 600;
  each.computeSeconds = kCompute;
  each.updateSeconds = kUpdate;
  return each;
}

ServedTimes simulate(const Cluster &on, const ServedTraining &each) {
  Result<ServedTimes> times = simulateServers(on, each);
  EXPECT_TRUE(times.ok()) << times.status().message();
  return times.ok() ? *times : ServedTimes();
}

TEST(ParameterServers, SynchronousStepsAreTheClosedForm) {
  const Cluster on = cluster({{"links", 128, kRate, kLatency}});
  for (int64_t workers : {1, 2, 4, 16, 64})
    for (int64_t servers : {1, 2, 8}) {
      SCOPED_TRACE(strCat(workers, " workers, ", servers, " servers"));
      const ServedTimes times = simulate(on, training(workers, servers));
      const double busiest = std::max(1., double(workers) / double(servers));
      EXPECT_NEAR(times.stepSeconds,
                  2 * kLatency + busiest * (1200 + 600) / kRate + kCompute +
                      kUpdate / double(servers),
                  1e-9);
      // All have the newest parameters.
      EXPECT_EQ(times.mostStaleness, 0);
      EXPECT_EQ(times.serverBytes / times.workerBytes,
                double(workers) / double(servers));
    }
}

/// Where nothing but computing takes time.
ServedTraining computing(int64_t workers, bool isAsynchronous) {
  ServedTraining each = training(workers, 1);
  each.updateSeconds = 0;
  each.isAsynchronous = isAsynchronous;
  return each;
}

TEST(ParameterServers, TheSlowestWorkerIsWaitedForOrNot) {
  const int64_t workers = 8;
  ServedTraining slow = computing(workers, false);
  slow.slowdown.assign(workers, 1);
  slow.slowdown[3] = 4;
  EXPECT_NEAR(simulate(idealCluster(), slow).updatesPerSecond,
              workers / (4 * kCompute), 1e-12);
  slow.isAsynchronous = true;
  const ServedTimes times = simulate(idealCluster(), slow);
  EXPECT_NEAR(times.updatesPerSecond,
              (workers - 1) / kCompute + 1 / (4 * kCompute), 1e-12);
  EXPECT_NEAR(times.stepSeconds, workers / times.updatesPerSecond, 1e-9);
  // While the slow one computes once, each other one updates four times.
  EXPECT_NEAR(times.mostStaleness, 4 * (workers - 1), 1);
}

TEST(ParameterServers, AsynchronousGradientsAreStale) {
  for (int64_t workers : {1, 2, 8, 32}) {
    SCOPED_TRACE(strCat(workers, " workers"));
    const ServedTimes times =
        simulate(idealCluster(), computing(workers, true));
    EXPECT_NEAR(times.updatesPerSecond, double(workers) / kCompute, 1e-12);
    // Each of the others updates once in between.
    EXPECT_NEAR(times.meanStaleness, double(workers - 1), 1e-12);
    EXPECT_NEAR(times.mostStaleness, double(workers - 1), 1e-12);
  }
}

TEST(ParameterServers, AsynchronousIsAtLeastAsQuick) {
  const Cluster on = cluster({{"links", 128, kRate, kLatency}});
  for (int64_t workers : {1, 3, 16})
    for (int64_t servers : {1, 4}) {
      SCOPED_TRACE(strCat(workers, " workers, ", servers, " servers"));
      ServedTraining each = training(workers, servers);
      each.updateSeconds = 0;
      const double synchronous = simulate(on, each).updatesPerSecond;
      each.isAsynchronous = true;
      EXPECT_GE(simulate(on, each).updatesPerSecond, synchronous * (1 - 1e-9));
    }
}

TEST(ParameterServers, ServersAreBehindTheWorkers) {
  // Two workers in one block, the server in another: both cross the net.
  const Cluster on =
      cluster({{"node", 2, 1e6, 0}, {"net", 128, kRate, kLatency}});
  const ServedTimes times = simulate(on, training(2, 1));
  EXPECT_NEAR(times.stepSeconds,
              2 * kLatency + 2 * 1800 / kRate + kCompute + kUpdate, 1e-9);
}

TEST(ParameterServers, RefusesWhatHasNoRoom) {
  const Cluster on = cluster({{"links", 4, kRate, kLatency}});
  Result<ServedTimes> times = simulateServers(on, training(4, 1));
  ASSERT_FALSE(times.ok());
  EXPECT_EQ(times.status().message(),
            "cluster 'test' has room for 4 ranks, fewer than 5: 4 workers "
            "and 1 servers");
  ServedTraining idle = training(1, 1);
  idle.computeSeconds = 0;
  EXPECT_FALSE(simulateServers(on, idle).ok());
}

} // namespace
} // namespace zc
