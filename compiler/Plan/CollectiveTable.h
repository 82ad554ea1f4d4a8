//===- CollectiveTable.h - ways to sum over ranks, compared -----*- C++ -*-===//
//
// All-reduces by their messages as the runtime sends them: counted rounds and
// bytes, and time on a cluster.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_COMPILER_PLAN_COLLECTIVETABLE_H
#define ZC_COMPILER_PLAN_COLLECTIVETABLE_H

#include "runtime/Simulate/CollectiveTimes.h"

#include <cstdint>
#include <string>
#include <vector>

namespace zc {

struct CollectiveRow {
  plan::CollectiveAlgorithm algorithm = plan::RING;
  int64_t ranks = 2, bytes = 0;
  int64_t rounds = 0;
  double peakBytes = 0;  // of the rank that sends or receives most
  double totalBytes = 0; // that all ranks send
  double seconds = 0;    // each round its latency, and its busiest link
};

/// An all-reduce of so many bytes, counted message by message.
CollectiveRow countCollective(const Cluster &cluster,
                              plan::CollectiveAlgorithm algorithm,
                              int64_t ranks, int64_t bytes);

/// From which size on another algorithm is the quickest, to four bytes; sizes
/// from 1 KiB to 1 GiB are looked at.
struct Crossover {
  int64_t ranks = 2, bytes = 0;
  plan::CollectiveAlgorithm before = plan::RING, after = plan::RING;
};
std::vector<Crossover> findCrossovers(const Cluster &cluster, int64_t ranks);

/// The algorithm and protocol as which an all-reduce of neighbouring ranks is
/// simulated from a size on, where its plan says `auto`: the cluster's
/// quickest. The first choice is from 0 bytes on.
struct AutoChoice {
  int64_t ranks = 2, bytes = 0;
  CollectiveMethod method;
};
std::vector<AutoChoice> findAutoChoices(const Cluster &cluster, int64_t ranks);

/// By which power of the ranks something grows, between 32 and 64.
struct Growth {
  plan::CollectiveAlgorithm algorithm = plan::RING;
  double rounds = 0, peakBytes = 0, totalBytes = 0;
};
std::vector<Growth> measureGrowth(const Cluster &cluster);

std::string printCollectives(const Cluster &cluster);
std::string collectivesAsJson(const Cluster &cluster);

} // namespace zc

#endif // ZC_COMPILER_PLAN_COLLECTIVETABLE_H
