// How long collectives and messages take on a described network, by their
// closed forms.
#ifndef ZC_RUNTIME_SIMULATE_COLLECTIVETIMES_H
#define ZC_RUNTIME_SIMULATE_COLLECTIVETIMES_H

#include "runtime/Plan/Mesh.h"
#include "runtime/Simulate/Cluster.h"

#include <string>
#include <vector>

namespace zc {

/// How the ranks of a group lie on the levels of a cluster: how many of them
/// each block of a level has. Level 0 of a group inside one node has them all.
struct GroupPlace {
  std::vector<int64_t> members; // by level, ascending; the last is the group
};

/// The place of ranks in any order; the block of the first one counts.
GroupPlace placeOf(const Cluster &cluster, const std::vector<int> &ranks);

/// A transfer as its network sees it: the latency, and the bytes that each
/// device sends over each level at once.
struct TransferCost {
  double latencySeconds = 0;
  std::vector<double> bytes; // by level
  /// The bytes take a level's links this many times as long as their number and
  /// the links' rate say, by level; empty: just as long.
  std::vector<double> slowness = {};

  /// Bytes that would take a level's links as long as these do.
  double takenBytes(size_t level) const {
    return bytes[level] * (slowness.empty() ? 1 : slowness[level]);
  }
  /// Seconds with no other transfer beside it.
  double seconds(const Cluster &cluster) const;
};

/// The cost of a collective over `bytes` (the larger of a rank's source and
/// destination). With n bytes, N ranks, on one level of latency a and bandwidth
/// b:
///
///   all-reduce     ring          2 (N-1) a + 2 (N-1)/N n / b
///                  tree          2 log2 N a + 2 n / b
///                  doubling      log2 N (a + n / b)
///                  Rabenseifner  2 log2 N a + 2 (N-1)/N n / b
///                  hierarchical  reduce-scatter inside a block, all-reduce of
///                                a share between blocks, gather inside
///   all-gather, reduce-scatter   half of the all-reduce's ring or doubling
///   all-to-all     every pair at once: a + (N-1)/N n / b
///
/// Over several levels the rings of a block's ranks share the bytes that leave
/// the block, as NCCL's channels do. The quickest of the cluster's ways is
/// taken, unless `algorithm` says which (one that is no way, as `parallel`,
/// sends to all others, over each level to those that it joins), and of a way's
/// protocols the quickest:
/// a is its latency, b the level's rate times its share, and its start is
/// added. All other kinds of collectives, and messages, have the levels' a and
/// b. Inside the innermost level a kind that was timed for as many ranks takes
/// the measured time, and between two measured sizes a time in proportion. The
/// time of the smallest size is latency. More ranks than were timed take at
/// least what the most that were timed took. A fixed algorithm takes the
/// measured time only if it is the ring and the cluster has no other.
TransferCost costOnCluster(const Cluster &cluster, plan::CollectiveKind kind,
                           plan::CollectiveAlgorithm algorithm,
                           const GroupPlace &place, double bytes);

/// Whether a kind of collective may be computed in any of a cluster's ways.
bool hasWays(plan::CollectiveKind kind);

/// How a collective is computed: in which way, by which of its protocols.
struct CollectiveMethod {
  CollectiveWay way = CollectiveWay::Ring;
  std::string protocol; // empty: the way has none

  /// "ring", or "ring (ll128)".
  std::string name() const;
};
inline bool operator==(const CollectiveMethod &a, const CollectiveMethod &b) {
  return a.way == b.way && a.protocol == b.protocol;
}

/// The method that costOnCluster() takes for AUTO.
CollectiveMethod methodOnCluster(const Cluster &cluster,
                                 plan::CollectiveKind kind,
                                 const GroupPlace &place, double bytes);

/// A message from one rank to another. Inside the innermost level it takes what
/// messages took, if they were timed.
TransferCost messageCost(const Cluster &cluster, int from, int to,
                         double bytes);

} // namespace zc

#endif // ZC_RUNTIME_SIMULATE_COLLECTIVETIMES_H
