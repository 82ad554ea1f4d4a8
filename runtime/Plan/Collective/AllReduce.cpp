#include "runtime/Plan/Collective/Builder.h"

namespace zc::collective {
namespace {

/// The ranks that take part in exchanges over powers of two. Where there are
/// more, every even one of the lowest lets its odd neighbour stand for it.
struct PowerOfTwo {
  PowerOfTwo(int64_t ranks, int64_t rank)
      : power(floorPowerOfTwo(ranks)), rest(ranks - power),
        paired(rank < 2 * rest), idle(paired && rank % 2 == 0),
        place(paired ? rank / 2 : rank - rest) {}

  int64_t rankAt(int64_t other) const {
    return other < rest ? 2 * other + 1 : other + rest;
  }

  const int64_t power, rest;
  const bool paired, idle;
  const int64_t place;
};

void addHandOver(Builder &b, const PowerOfTwo &group) {
  if (group.rest == 0)
    return;
  Round &round = b.addRound();
  const int64_t n = b.elements();
  if (group.idle) {
    b.send(round, b.rank + 1, destination(0, n));
  } else if (group.paired) {
    b.receive(round, b.rank - 1, workspace(0, n));
    b.reduce(round, destination(0, n), workspace(0, n));
  }
}

void addHandBack(Builder &b, const PowerOfTwo &group) {
  if (group.rest == 0)
    return;
  Round &round = b.addRound();
  const int64_t n = b.elements();
  if (group.idle)
    b.receive(round, b.rank + 1, destination(0, n));
  else if (group.paired)
    b.send(round, b.rank - 1, destination(0, n));
}

void buildRecursiveDoubling(Builder &b) {
  const PowerOfTwo group(b.ranks(), b.rank);
  const int64_t n = b.elements();
  addHandOver(b, group);
  for (int64_t mask = 1; mask < group.power; mask *= 2) {
    Round &round = b.addRound();
    if (group.idle)
      continue;
    int64_t peer = group.rankAt(group.place ^ mask);
    b.send(round, peer, destination(0, n));
    b.receive(round, peer, workspace(0, n));
    b.reduce(round, destination(0, n), workspace(0, n));
  }
  addHandBack(b, group);
}

/// Parts [first, first + count) of the destination.
Span partsOf(const Parts &parts, int64_t first, int64_t count) {
  int64_t begin = parts.begin(first);
  return destination(begin, parts.begin(first + count) - begin);
}

/// A reduce-scatter by recursive halving, a gather by recursive doubling.
void buildRabenseifner(Builder &b) {
  const PowerOfTwo group(b.ranks(), b.rank);
  const Parts parts{b.elements(), group.power};
  addHandOver(b, group);
  int64_t low = 0;
  for (int64_t half = group.power / 2; half > 0; half /= 2) {
    Round &round = b.addRound();
    if (group.idle)
      continue;
    int64_t peer = group.rankAt(group.place ^ half);
    int64_t kept = low + (group.place & half);
    Span mine = partsOf(parts, kept, half);
    b.send(round, peer,
           partsOf(parts, low + (half - (group.place & half)), half));
    b.receive(round, peer, workspace(0, mine.count));
    b.reduce(round, mine, workspace(0, mine.count));
    low = kept;
  }
  for (int64_t mask = 1; mask < group.power; mask *= 2) {
    Round &round = b.addRound();
    if (group.idle)
      continue;
    int64_t peer = group.rankAt(group.place ^ mask);
    int64_t first = group.place & ~(mask - 1);
    b.send(round, peer, partsOf(parts, first, mask));
    b.receive(round, peer, partsOf(parts, first ^ mask, mask));
  }
  addHandBack(b, group);
}

void buildRing(Builder &b) {
  const Parts parts{b.elements(), b.ranks()};
  auto at = [&](int64_t p) {
    return destination(parts.begin(p), parts.size(p));
  };
  for (int64_t step = 1; step < b.ranks(); ++step) {
    Round &round = b.addRound();
    Span kept = at(b.further(-step - 1));
    b.send(round, b.further(1), at(b.further(-step)));
    b.receive(round, b.further(-1), workspace(0, kept.count));
    b.reduce(round, kept, workspace(0, kept.count));
  }
  addGatherRing(b, parts);
}

/// Everyone's data to everyone, at once.
void buildParallel(Builder &b) {
  const int64_t n = b.elements();
  Round &round = b.addRound();
  for (int64_t r = 0; r < b.ranks(); ++r)
    if (r != b.rank) {
      b.send(round, r, source(0, n));
      b.receive(round, r, workspace((r < b.rank ? r : r - 1) * n, n));
    }
  b.reduceInRankOrder(round, source(0, n), n);
}

/// One rank after another is sent everyone's data.
void buildSequential(Builder &b) {
  const int64_t n = b.elements();
  // The destination may be the source, which later ranks still need.
  const Span own = workspace((b.ranks() - 1) * n, n);
  b.copyBefore(own, source(0, n));
  for (int64_t turn = 0; turn < b.ranks(); ++turn) {
    Round &round = b.addRound();
    if (turn != b.rank) {
      b.send(round, turn, own);
      continue;
    }
    for (int64_t r = 0; r < b.ranks(); ++r)
      if (r != b.rank)
        b.receive(round, r, workspace((r < b.rank ? r : r - 1) * n, n));
    b.reduceInRankOrder(round, own, n);
  }
}

void buildParameterServer(Builder &b) {
  const int64_t n = b.elements();
  Round &push = b.addRound();
  if (b.rank == 0) {
    for (int64_t r = 1; r < b.ranks(); ++r)
      b.receive(push, r, workspace((r - 1) * n, n));
    b.reduceInRankOrder(push, source(0, n), n);
  } else {
    b.send(push, 0, source(0, n));
  }
  Round &pull = b.addRound();
  if (b.rank != 0)
    b.receive(pull, 0, destination(0, n));
  else
    for (int64_t r = 1; r < b.ranks(); ++r)
      b.send(pull, r, destination(0, n));
}

} // namespace

void buildAllReduce(Builder &b, plan::CollectiveAlgorithm algorithm) {
  if (algorithm == plan::SEQUENTIAL)
    return buildSequential(b);
  if (algorithm == plan::PARALLEL)
    return buildParallel(b);
  if (algorithm == plan::PARAMETER_SERVER)
    return buildParameterServer(b);
  b.copyBefore(destination(0, b.elements()), source(0, b.elements()));
  if (algorithm == plan::RECURSIVE_DOUBLING)
    buildRecursiveDoubling(b);
  else if (algorithm == plan::RABENSEIFNER)
    buildRabenseifner(b);
  else
    buildRing(b);
}

} // namespace zc::collective
