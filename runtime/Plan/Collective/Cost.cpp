#include "runtime/Plan/Collective/Cost.h"

#include <algorithm>

namespace zc {

int64_t floorLog2(int64_t ranks) {
  int64_t log = 0;
  while (ranks >> (log + 1))
    ++log;
  return log;
}

int64_t floorPowerOfTwo(int64_t ranks) {
  return int64_t(1) << floorLog2(ranks);
}

bool isDivided(plan::CollectiveKind kind) {
  switch (kind) {
  case plan::ALL_GATHER:
  case plan::REDUCE_SCATTER:
  case plan::SCATTER:
  case plan::GATHER:
    return true;
  default:
    return false;
  }
}

static bool isPowerOfTwo(int64_t ranks) { return (ranks & (ranks - 1)) == 0; }

plan::CollectiveAlgorithm effectiveAlgorithm(const CollectiveShape &shape) {
  const plan::CollectiveAlgorithm asked = shape.algorithm;
  bool recursive =
      asked == plan::RECURSIVE_DOUBLING || asked == plan::RABENSEIFNER;
  switch (shape.kind) {
  case plan::ALL_REDUCE:
    return asked == plan::AUTO ? plan::RING : asked;
  case plan::ALL_GATHER:
  case plan::REDUCE_SCATTER:
    if (recursive && isPowerOfTwo(shape.ranks))
      return plan::RECURSIVE_DOUBLING;
    return asked == plan::PARALLEL ? asked : plan::RING;
  case plan::ALL_TO_ALL:
    return asked == plan::PARALLEL ? asked : plan::RING;
  case plan::BROADCAST:
  case plan::REDUCE:
    if (asked == plan::PARAMETER_SERVER)
      return plan::PARALLEL;
    if (recursive)
      return plan::RECURSIVE_DOUBLING;
    return asked == plan::AUTO ? plan::RING : asked;
  default: // one rank talks to all, or each to one
    return asked == plan::SEQUENTIAL ? asked : plan::PARALLEL;
  }
}

namespace {

/// Elements that rank v of P sends in Rabenseifner's halving and doubling.
int64_t rabenseifnerSent(const Parts &parts, int64_t v) {
  int64_t sent = 0, low = 0;
  for (int64_t half = parts.parts / 2; half > 0; half /= 2) {
    int64_t kept = low + (v & half), other = low + (half - (v & half));
    sent += parts.begin(other + half) - parts.begin(other);
    // It hands out in the second half what it kept in the first.
    sent += parts.begin(kept + half) - parts.begin(kept);
    low = kept;
  }
  return sent;
}

int64_t rabenseifnerMost(int64_t elements, int64_t ranks) {
  const int64_t power = floorPowerOfTwo(ranks), rest = ranks - power;
  Parts parts{elements, power};
  if (elements % power == 0)
    return 2 * (elements - elements / power) + (rest ? elements : 0);
  int64_t most = 0;
  for (int64_t v = 0; v < power; ++v)
    most =
        std::max(most, rabenseifnerSent(parts, v) + (v < rest ? elements : 0));
  return most;
}

/// All of it twice but for two neighbouring parts.
int64_t ringMost(int64_t elements, int64_t ranks) {
  Parts parts{elements, ranks};
  int64_t least = 2 * elements;
  for (int64_t r = 0; r < ranks; ++r)
    least = std::min(least, parts.size(r) + parts.size((r + 1) % ranks));
  return 2 * elements - least;
}

/// In elements instead of bytes.
CollectiveCost allReduceCost(const CollectiveShape &s,
                             plan::CollectiveAlgorithm algorithm) {
  const uint64_t n = uint64_t(s.elements), others = uint64_t(s.ranks - 1);
  const uint32_t levels = uint32_t(floorLog2(s.ranks));
  const bool fixUp = !isPowerOfTwo(s.ranks);
  switch (algorithm) {
  case plan::SEQUENTIAL:
    return {others * n, uint32_t(s.ranks), uint64_t(s.ranks) * n};
  case plan::PARALLEL:
    return {others * n, 1, others * n};
  case plan::RECURSIVE_DOUBLING:
    return {(levels + fixUp) * n, levels + 2 * fixUp, n};
  case plan::RABENSEIFNER: {
    Parts parts{s.elements, floorPowerOfTwo(s.ranks)};
    return {uint64_t(rabenseifnerMost(s.elements, s.ranks)),
            2 * levels + 2 * fixUp,
            fixUp ? n : uint64_t(parts.begin((parts.parts + 1) / 2))};
  }
  case plan::PARAMETER_SERVER:
    return {others * n, 2, others * n};
  default:
    return {uint64_t(ringMost(s.elements, s.ranks)), 2 * uint32_t(others),
            uint64_t(Parts{s.elements, s.ranks}.size(0))};
  }
}

CollectiveCost dividedCost(const CollectiveShape &s,
                           plan::CollectiveAlgorithm algorithm) {
  const uint64_t part = uint64_t(s.elements / s.ranks);
  const uint64_t others = uint64_t(s.ranks - 1), sent = others * part;
  const bool reduces = s.kind == plan::REDUCE_SCATTER;
  switch (algorithm) {
  case plan::PARALLEL:
    return {sent, 1, reduces ? sent : 0};
  case plan::RECURSIVE_DOUBLING:
    return {sent, uint32_t(floorLog2(s.ranks)),
            reduces ? uint64_t(s.elements) - 2 * part : 0};
  default:
    return {sent, uint32_t(others), reduces && s.ranks > 2 ? part : 0};
  }
}

/// From or to one root.
CollectiveCost rootedCost(const CollectiveShape &s,
                          plan::CollectiveAlgorithm algorithm) {
  const uint64_t n = uint64_t(s.elements), others = uint64_t(s.ranks - 1);
  const uint32_t levels = uint32_t(floorLog2(s.ranks) + !isPowerOfTwo(s.ranks));
  const bool reduces = s.kind == plan::REDUCE;
  switch (algorithm) {
  case plan::SEQUENTIAL:
    return {reduces ? n : others * n, uint32_t(others), reduces ? n : 0};
  case plan::PARALLEL:
    return {reduces ? n : others * n, 1, reduces ? others * n : 0};
  case plan::RECURSIVE_DOUBLING:
    return {reduces ? n : levels * n, levels, reduces ? 2 * n : 0};
  default:
    return {n, uint32_t(others), reduces ? n : 0};
  }
}

CollectiveCost costInElements(const CollectiveShape &s) {
  const plan::CollectiveAlgorithm algorithm = effectiveAlgorithm(s);
  const uint64_t others = uint64_t(s.ranks - 1);
  const uint64_t part = uint64_t(s.elements / s.ranks);
  switch (s.kind) {
  case plan::ALL_REDUCE:
    return allReduceCost(s, algorithm);
  case plan::ALL_GATHER:
  case plan::REDUCE_SCATTER:
    return dividedCost(s, algorithm);
  case plan::BROADCAST:
  case plan::REDUCE:
    return rootedCost(s, algorithm);
  case plan::ALL_TO_ALL:
    return {others * part, algorithm == plan::PARALLEL ? 1 : uint32_t(others),
            0};
  case plan::SCATTER:
    return {others * part, algorithm == plan::PARALLEL ? 1 : uint32_t(others),
            0};
  case plan::GATHER:
    return {part, algorithm == plan::PARALLEL ? 1 : uint32_t(others), 0};
  default:
    return s.shift % s.ranks == 0 ? CollectiveCost()
                                  : CollectiveCost{uint64_t(s.elements), 1, 0};
  }
}

} // namespace

CollectiveCost costOf(const CollectiveShape &shape) {
  if (shape.ranks <= 1)
    return CollectiveCost();
  CollectiveCost cost = costInElements(shape);
  cost.sentBytes *= uint64_t(shape.elementBytes);
  cost.workspaceBytes *= uint64_t(shape.elementBytes);
  return cost;
}

} // namespace zc
