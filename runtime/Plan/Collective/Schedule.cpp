#include "runtime/Plan/Collective/Schedule.h"
#include "runtime/Plan/Collective/Builder.h"

namespace zc {

using namespace collective;

namespace {

void buildAllToAll(Builder &b, plan::CollectiveAlgorithm algorithm) {
  const int64_t n = b.part();
  b.copyBefore(destination(b.rank * n, n), source(b.rank * n, n));
  for (int64_t step = 1; step < b.ranks(); ++step) {
    Round &round = algorithm != plan::PARALLEL || step == 1
                       ? b.addRound()
                       : b.schedule.rounds.back();
    b.send(round, b.further(step), source(b.further(step) * n, n));
    b.receive(round, b.further(-step), destination(b.further(-step) * n, n));
  }
}

/// From the root to each rank its part, or the other way round.
void buildStar(Builder &b, plan::CollectiveAlgorithm algorithm, bool outwards) {
  const int64_t n = b.part(), root = b.shape.root;
  auto partAtRoot = [&](int64_t r) {
    return outwards ? source(r * n, n) : destination(r * n, n);
  };
  const Span own = outwards ? destination(0, n) : source(0, n);
  if (b.rank == root)
    outwards ? b.copyBefore(own, partAtRoot(root))
             : b.copyBefore(partAtRoot(root), own);
  for (int64_t step = 1; step < b.ranks(); ++step) {
    Round &round = algorithm == plan::SEQUENTIAL || step == 1
                       ? b.addRound()
                       : b.schedule.rounds.back();
    const int64_t other = (root + step) % b.ranks();
    if (b.rank == root)
      outwards ? b.send(round, other, partAtRoot(other))
               : b.receive(round, other, partAtRoot(other));
    else if (b.rank == other)
      outwards ? b.receive(round, root, own) : b.send(round, root, own);
  }
}

void buildShift(Builder &b) {
  const int64_t n = b.elements(), to = b.further(b.shape.shift);
  if (to == b.rank) {
    b.copyBefore(destination(0, n), source(0, n));
    return;
  }
  Round &round = b.addRound();
  b.send(round, to, source(0, n));
  b.receive(round, b.further(-b.shape.shift), destination(0, n));
}

/// With one rank, the destination is the source.
void buildAlone(Builder &b) {
  b.copyBefore(destination(0, b.elements()), source(0, b.elements()));
}

} // namespace

Schedule scheduleOf(const CollectiveShape &shape, int64_t rank) {
  Builder b{shape, rank};
  const plan::CollectiveAlgorithm algorithm = effectiveAlgorithm(shape);
  if (shape.ranks == 1) {
    buildAlone(b);
    return b.schedule;
  }
  switch (shape.kind) {
  case plan::ALL_REDUCE:
    buildAllReduce(b, algorithm);
    break;
  case plan::ALL_GATHER:
    buildGather(b, algorithm);
    break;
  case plan::REDUCE_SCATTER:
    buildReduceScatter(b, algorithm);
    break;
  case plan::ALL_TO_ALL:
    buildAllToAll(b, algorithm);
    break;
  case plan::BROADCAST:
    buildBroadcast(b, algorithm);
    break;
  case plan::REDUCE:
    buildReduce(b, algorithm);
    break;
  case plan::SCATTER:
  case plan::GATHER:
    buildStar(b, algorithm, shape.kind == plan::SCATTER);
    break;
  default:
    buildShift(b);
    break;
  }
  return b.schedule;
}

} // namespace zc
