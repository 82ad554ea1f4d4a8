// The bytes that a collective sends, by closed forms: for the compiler, which
// states them in the plan and adds them up in `zc inspect --comm`, and for the
// runtime, which compares them with its counts. Schedule.h has the messages
// themselves; tests check that both agree.
#ifndef ZC_RUNTIME_PLAN_COLLECTIVE_COST_H
#define ZC_RUNTIME_PLAN_COLLECTIVE_COST_H

#include "runtime/Plan/Manifest.pb.h"

#include <cstdint>

namespace zc {

/// A collective without its addresses. `elements` are those of the larger of
/// source and destination: the whole of what is gathered or scattered, a
/// multiple of `ranks` there.
struct CollectiveShape {
  plan::CollectiveKind kind = plan::ALL_REDUCE;
  plan::CollectiveAlgorithm algorithm = plan::AUTO;
  int64_t ranks = 1;
  int64_t elements = 0;
  int64_t elementBytes = 4;
  int64_t root = 0;
  int64_t shift = 1;
};

/// `sentBytes` is of the rank that sends most; `steps` are rounds of messages
/// that follow one another; `workspaceBytes` is what a rank needs for messages
/// on their way, the most of any rank.
struct CollectiveCost {
  uint64_t sentBytes = 0;
  uint32_t steps = 0;
  uint64_t workspaceBytes = 0;
};

/// With n bytes, N ranks, P the largest power of two up to N; exact also where
/// N does not divide n.
///
///   all-reduce          steps            sent by the busiest rank
///   sequential          N                (N-1) n
///   parallel            1                (N-1) n
///   ring                2 (N-1)          2 (N-1)/N n
///   recursive doubling  log2 P [+ 2]     log2 P n [+ n]
///   Rabenseifner        2 log2 P [+ 2]   2 (P-1)/P n [+ n]
///   parameter server    2                (N-1) n by the server, n by others
///
/// In brackets: N is no power of two. First every even one of the 2 (N - P)
/// lowest ranks hands its data to its odd neighbour, which hands the result
/// back in the end.
///
/// Gather and reduce-scatter send (N-1)/N n whatever the algorithm: in N-1
/// steps by the ring, in 1 by `parallel`, in log2 N by recursive doubling and
/// Rabenseifner where N is a power of two.
CollectiveCost costOf(const CollectiveShape &shape);

/// The algorithm that really runs: AUTO and those that a kind of collective
/// does not have stand for another.
plan::CollectiveAlgorithm effectiveAlgorithm(const CollectiveShape &shape);

/// Whether source and destination of the kind have different sizes.
bool isDivided(plan::CollectiveKind kind);

/// The largest power of two up to `ranks`, and its logarithm.
int64_t floorPowerOfTwo(int64_t ranks);
int64_t floorLog2(int64_t ranks);

/// Part r of `elements` cut into `parts` is [begin(r), begin(r + 1)); the first
/// ones are larger by one where they cannot be equal.
struct Parts {
  int64_t elements, parts;
  int64_t begin(int64_t r) const {
    int64_t rest = elements % parts;
    return elements / parts * r + (r < rest ? r : rest);
  }
  int64_t size(int64_t r) const { return begin(r + 1) - begin(r); }
};

} // namespace zc

#endif // ZC_RUNTIME_PLAN_COLLECTIVE_COST_H
