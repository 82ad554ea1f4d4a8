// All-gather and reduce-scatter.
#include "runtime/Plan/Collective/Builder.h"

namespace zc::collective {

void addGatherRing(Builder &b, const Parts &parts) {
  auto at = [&](int64_t p) {
    return destination(parts.begin(p), parts.size(p));
  };
  for (int64_t step = 0; step + 1 < b.ranks(); ++step) {
    Round &round = b.addRound();
    b.send(round, b.further(1), at(b.further(-step)));
    b.receive(round, b.further(-1), at(b.further(-step - 1)));
  }
}

void buildGather(Builder &b, plan::CollectiveAlgorithm algorithm) {
  const int64_t n = b.part();
  b.copyBefore(destination(b.rank * n, n), source(0, n));
  if (algorithm == plan::RING)
    return addGatherRing(b, {b.elements(), b.ranks()});
  if (algorithm == plan::PARALLEL) {
    Round &round = b.addRound();
    for (int64_t r = 0; r < b.ranks(); ++r)
      if (r != b.rank) {
        b.send(round, r, source(0, n));
        b.receive(round, r, destination(r * n, n));
      }
    return;
  }
  for (int64_t mask = 1; mask < b.ranks(); mask *= 2) {
    Round &round = b.addRound();
    int64_t first = b.rank & ~(mask - 1);
    b.send(round, b.rank ^ mask, destination(first * n, mask * n));
    b.receive(round, b.rank ^ mask, destination((first ^ mask) * n, mask * n));
  }
}

namespace {

/// Partial sums alternate between workspace and destination, so that the last
/// one ends in the destination.
void buildScatterRing(Builder &b) {
  const int64_t n = b.part(), p = b.ranks();
  Span sent = source(b.further(-1) * n, n);
  for (int64_t step = 1; step < p; ++step) {
    Round &round = b.addRound();
    Span received =
        (p - 1 - step) % 2 == 0 ? destination(0, n) : workspace(0, n);
    b.send(round, b.further(1), sent);
    b.receive(round, b.further(-1), received);
    b.reduce(round, received, source(b.further(-step - 1) * n, n));
    sent = received;
  }
}

/// Halves of halves: each received one has its own place in the workspace, the
/// last is the destination.
void buildScatterHalving(Builder &b) {
  const int64_t n = b.part();
  int64_t low = 0, used = 0;
  Span have = source(0, b.elements()); // what is reduced so far, from part low
  for (int64_t half = b.ranks() / 2; half > 0; half /= 2) {
    Round &round = b.addRound();
    const bool upper = b.rank & half;
    Span kept{have.place, have.begin + (upper ? half * n : 0), half * n};
    Span other{have.place, have.begin + (upper ? 0 : half * n), half * n};
    Span received = half == 1 ? destination(0, n) : workspace(used, half * n);
    b.send(round, b.rank ^ half, other);
    b.receive(round, b.rank ^ half, received);
    b.reduce(round, received, kept);
    used += half * n;
    low += upper ? half : 0;
    have = received;
  }
}

void buildScatterParallel(Builder &b) {
  const int64_t n = b.part();
  Round &round = b.addRound();
  for (int64_t r = 0; r < b.ranks(); ++r)
    if (r != b.rank) {
      b.send(round, r, source(r * n, n));
      b.receive(round, r, workspace((r < b.rank ? r : r - 1) * n, n));
    }
  b.reduceInRankOrder(round, source(b.rank * n, n), n);
}

} // namespace

void buildReduceScatter(Builder &b, plan::CollectiveAlgorithm algorithm) {
  if (algorithm == plan::PARALLEL)
    buildScatterParallel(b);
  else if (algorithm == plan::RING)
    buildScatterRing(b);
  else
    buildScatterHalving(b);
}

} // namespace zc::collective
