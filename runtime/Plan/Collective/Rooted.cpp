// Broadcast and reduce. `place` counts ranks from the root on.
#include "runtime/Plan/Collective/Builder.h"

namespace zc::collective {
namespace {

int64_t placeOf(const Builder &b) { return b.further(-b.shape.root); }
int64_t rankAt(const Builder &b, int64_t place) {
  return (b.shape.root + place) % b.ranks();
}

void addTreeBroadcast(Builder &b, Span data) {
  const int64_t place = placeOf(b);
  for (int64_t mask = 1; mask < b.ranks(); mask *= 2) {
    Round &round = b.addRound();
    if (place < mask && place + mask < b.ranks())
      b.send(round, rankAt(b, place + mask), data);
    else if (place >= mask && place < 2 * mask)
      b.receive(round, rankAt(b, place - mask), data);
  }
}

void addChainBroadcast(Builder &b, Span data) {
  const int64_t place = placeOf(b);
  for (int64_t step = 0; step + 1 < b.ranks(); ++step) {
    Round &round = b.addRound();
    if (place == step)
      b.send(round, b.further(1), data);
    else if (place == step + 1)
      b.receive(round, b.further(-1), data);
  }
}

/// Binomial: the data of places mask and beyond come in pair by pair.
void addTreeReduce(Builder &b) {
  const int64_t place = placeOf(b), n = b.elements();
  const Span total = place == 0 ? destination(0, n) : workspace(0, n);
  int64_t top = 1;
  while (2 * top < b.ranks())
    top *= 2;
  b.copyBefore(total, source(0, n));
  for (int64_t mask = top; mask > 0; mask /= 2) {
    Round &round = b.addRound();
    if (place >= mask && place < 2 * mask) {
      b.send(round, rankAt(b, place - mask), total);
    } else if (place < mask && place + mask < b.ranks()) {
      b.receive(round, rankAt(b, place + mask), workspace(n, n));
      b.reduce(round, total, workspace(n, n));
    }
  }
}

void addChainReduce(Builder &b) {
  const int64_t place = placeOf(b), n = b.elements(), last = b.ranks() - 1;
  const Span total = place == 0 ? destination(0, n) : workspace(0, n);
  if (place == 0)
    b.copyBefore(total, source(0, n));
  for (int64_t step = 0; step < last; ++step) {
    Round &round = b.addRound();
    if (place == last - step) {
      b.send(round, b.further(-1), place == last ? source(0, n) : total);
    } else if (place == last - step - 1) {
      b.receive(round, b.further(1), workspace(0, n));
      b.reduce(round, total, place == 0 ? workspace(0, n) : source(0, n));
    }
  }
}

} // namespace

void buildBroadcast(Builder &b, plan::CollectiveAlgorithm algorithm) {
  const Span data = destination(0, b.elements());
  const bool isRoot = placeOf(b) == 0;
  if (isRoot)
    b.copyBefore(data, source(0, b.elements()));
  if (algorithm == plan::RECURSIVE_DOUBLING)
    return addTreeBroadcast(b, data);
  if (algorithm == plan::RING)
    return addChainBroadcast(b, data);
  for (int64_t place = 1; place < b.ranks(); ++place) {
    Round &round = algorithm == plan::SEQUENTIAL || place == 1
                       ? b.addRound()
                       : b.schedule.rounds.back();
    if (isRoot)
      b.send(round, rankAt(b, place), data);
    else if (placeOf(b) == place)
      b.receive(round, b.shape.root, data);
  }
}

void buildReduce(Builder &b, plan::CollectiveAlgorithm algorithm) {
  const int64_t n = b.elements(), place = placeOf(b);
  if (algorithm == plan::RECURSIVE_DOUBLING)
    return addTreeReduce(b);
  if (algorithm == plan::RING)
    return addChainReduce(b);
  const bool sequential = algorithm == plan::SEQUENTIAL;
  if (place == 0)
    b.copyBefore(destination(0, n), source(0, n));
  for (int64_t other = 1; other < b.ranks(); ++other) {
    Round &round =
        sequential || other == 1 ? b.addRound() : b.schedule.rounds.back();
    Span received = workspace(sequential ? 0 : (other - 1) * n, n);
    if (place == 0) {
      b.receive(round, rankAt(b, other), received);
      b.reduce(round, destination(0, n), received);
    } else if (place == other) {
      b.send(round, b.shape.root, source(0, n));
    }
  }
}

} // namespace zc::collective
