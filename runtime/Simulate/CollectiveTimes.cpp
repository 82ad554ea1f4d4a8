#include "runtime/Simulate/CollectiveTimes.h"
#include "runtime/Plan/Collective/Cost.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace zc {

GroupPlace placeOf(const Cluster &cluster, const std::vector<int> &ranks) {
  GroupPlace place;
  for (const LinkLevel &level : cluster.levels) {
    const int64_t block = ranks.front() / level.size;
    place.members.push_back(
        std::count_if(ranks.begin(), ranks.end(),
                      [&](int rank) { return rank / level.size == block; }));
  }
  return place;
}

double TransferCost::seconds(const Cluster &cluster) const {
  double longest = 0;
  for (size_t i = 0; i < bytes.size(); ++i)
    if (cluster.levels[i].bytesPerSecond > 0)
      longest =
          std::max(longest, takenBytes(i) / cluster.levels[i].bytesPerSecond);
  return latencySeconds + longest;
}

std::string CollectiveMethod::name() const {
  return protocol.empty() ? nameOf(way)
                          : strCat(nameOf(way), " (", protocol, ")");
}

namespace {

/// A group on the levels that it spans, as factors: so many blocks of the level
/// below in each block, that hold members.
struct Spread {
  struct Level {
    size_t level;
    double parts;  // blocks (of level 0: ranks) that the level joins
    double inside; // members of one of these blocks
  };
  std::vector<Level> levels; // those with more than one part, innermost first
  double ranks = 1;

  Spread(const Cluster &cluster, const GroupPlace &place) {
    double below = 1;
    for (size_t i = 0; i < place.members.size(); ++i) {
      const double members = double(place.members[i]);
      if (members > below)
        levels.push_back({i, members / below, below});
      below = std::max(below, members);
    }
    ranks = below;
    latencies.reserve(cluster.levels.size());
    for (const LinkLevel &level : cluster.levels)
      latencies.push_back(level.latencySeconds);
  }

  /// With the latencies of a protocol.
  Spread(const Cluster &cluster, const GroupPlace &place,
         const CollectiveProtocol &protocol)
      : Spread(cluster, place) {
    latencies = protocol.latencySeconds;
  }

  TransferCost none() const {
    return {0, std::vector<double>(latencies.size(), 0)};
  }
  double latency(const Level &level) const { return latencies[level.level]; }
  double worstLatency() const {
    double worst = 0;
    for (const Level &level : levels)
      worst = std::max(worst, latency(level));
    return worst;
  }

private:
  std::vector<double> latencies;
};

/// `passes` times around a ring of all ranks: each rank passes (N-1)/N of the
/// bytes on, and the ranks of a block share the links that leave it.
TransferCost ring(const Spread &spread, double bytes, double passes) {
  TransferCost cost = spread.none();
  double hops = spread.ranks - 1; // of those, the outermost first
  for (auto level = spread.levels.rbegin(); level != spread.levels.rend();
       ++level) {
    double outer = 1;
    for (auto above = spread.levels.rbegin(); above != level; ++above)
      outer *= above->parts;
    // The ring enters each block once: so many hops cross this level.
    const double crossing =
        level + 1 == spread.levels.rend()
            ? hops
            : std::min(hops, outer * level->parts - (outer > 1 ? outer : 1));
    cost.latencySeconds += passes * crossing * spread.latency(*level);
    hops -= crossing;
    cost.bytes[level->level] =
        passes * bytes * (spread.ranks - 1) / spread.ranks / level->inside;
  }
  return cost;
}

/// Up and down a double binary tree of blocks, along chains inside of them
/// (Sanders, Speck and Traeff 2009, as NCCL has it).
TransferCost tree(const Spread &spread, double bytes) {
  TransferCost cost = spread.none();
  for (const Spread::Level &level : spread.levels) {
    const double deep =
        level.level == spread.levels.front().level && spread.levels.size() > 1
            ? level.parts - 1
            : std::ceil(std::log2(level.parts));
    cost.latencySeconds += 2 * deep * spread.latency(level);
    cost.bytes[level.level] = 2 * bytes / level.inside;
  }
  return cost;
}

/// Goes level by level: each sends a share of the bytes of the one before.
TransferCost hierarchical(const Spread &spread, double bytes, double passes) {
  TransferCost cost = spread.none();
  for (const Spread::Level &level : spread.levels) {
    cost.latencySeconds += passes * (level.parts - 1) * spread.latency(level);
    cost.bytes[level.level] =
        passes * bytes / level.inside * (level.parts - 1) / level.parts;
  }
  return cost;
}

/// In ceil(log2 N) rounds, of which each sends to a partner twice as far away;
/// the outer levels come last, or first, with shares of the bytes.
TransferCost doubling(const Spread &spread, double bytes, double passes,
                      bool isWhole) {
  TransferCost cost = spread.none();
  for (const Spread::Level &level : spread.levels) {
    const double rounds = std::ceil(std::log2(level.parts));
    cost.latencySeconds += passes * rounds * spread.latency(level);
    cost.bytes[level.level] = isWhole ? rounds * bytes
                                      : passes * bytes / level.inside *
                                            (level.parts - 1) / level.parts;
  }
  return cost;
}

/// Trees only sum: gathers and scatters go around a ring instead.
CollectiveWay usedWay(CollectiveWay way, plan::CollectiveKind kind) {
  return way == CollectiveWay::Tree && kind != plan::ALL_REDUCE
             ? CollectiveWay::Ring
             : way;
}

TransferCost costOfWay(CollectiveWay way, plan::CollectiveKind kind,
                       const Spread &spread, double bytes) {
  const double passes = kind == plan::ALL_REDUCE ? 2 : 1;
  switch (way) {
  case CollectiveWay::Tree:
    return tree(spread, bytes);
  case CollectiveWay::Doubling:
    return doubling(spread, bytes, 1, kind == plan::ALL_REDUCE);
  case CollectiveWay::Rabenseifner:
    return doubling(spread, bytes, passes, false);
  case CollectiveWay::Hierarchical:
    return hierarchical(spread, bytes, passes);
  default:
    return ring(spread, bytes, passes);
  }
}

/// Every pair at once, or each rank one message that crosses all levels.
TransferCost direct(const Spread &spread, double bytes, bool isAllToAll) {
  TransferCost cost = spread.none();
  cost.latencySeconds = spread.worstLatency();
  for (const Spread::Level &level : spread.levels) {
    const double reached = level.inside * level.parts;
    cost.bytes[level.level] =
        isAllToAll ? bytes * (reached - level.inside) / spread.ranks : bytes;
  }
  return cost;
}

/// The way of an algorithm that a plan fixes, if it is one of them.
std::optional<CollectiveWay> wayOf(plan::CollectiveAlgorithm algorithm) {
  switch (algorithm) {
  case plan::RING:
    return CollectiveWay::Ring;
  case plan::RECURSIVE_DOUBLING:
    return CollectiveWay::Doubling;
  case plan::RABENSEIFNER:
    return CollectiveWay::Rabenseifner;
  default:
    return std::nullopt;
  }
}

/// A ring that brings all to one rank, or from it.
TransferCost rootedRing(const Spread &spread, double bytes) {
  return ring(spread, bytes * spread.ranks / (spread.ranks - 1), 1);
}

/// One that the plan has fixed.
CollectiveShape fixedShape(const Spread &spread, plan::CollectiveKind kind,
                           plan::CollectiveAlgorithm algorithm, double bytes) {
  CollectiveShape shape;
  shape.kind = kind;
  shape.algorithm = algorithm;
  shape.ranks = int64_t(spread.ranks);
  shape.elementBytes = 1;
  shape.elements = int64_t(bytes);
  if (isDivided(kind) || kind == plan::ALL_TO_ALL)
    shape.elements -= shape.elements % shape.ranks;
  return shape;
}

/// Rounds in which the busiest rank sends to all others: each level has the
/// messages to ranks that it joins, and a round takes what the slowest of its
/// messages does.
TransferCost costOfRounds(const Spread &spread, const CollectiveShape &shape) {
  const CollectiveCost closed = costOf(shape);
  TransferCost cost = spread.none();
  cost.latencySeconds = closed.steps * spread.worstLatency();
  for (const Spread::Level &level : spread.levels)
    cost.bytes[level.level] = double(closed.sentBytes) * level.inside *
                              (level.parts - 1) / (spread.ranks - 1);
  return cost;
}

/// Rounds in each of which another rank sends once, perhaps over all levels.
TransferCost costOfTurns(const Spread &spread, const CollectiveShape &shape) {
  const CollectiveCost closed = costOf(shape);
  TransferCost cost = direct(spread, double(closed.sentBytes), false);
  cost.latencySeconds = closed.steps * spread.worstLatency();
  return cost;
}

/// Over several levels: as if the algorithm were the cluster's, where it can
/// be.
TransferCost costOverLevels(const Spread &spread, const CollectiveShape &shape,
                            plan::CollectiveAlgorithm algorithm, double bytes) {
  const bool reduces = shape.kind == plan::REDUCE;
  if (std::optional<CollectiveWay> way = wayOf(algorithm);
      way && hasWays(shape.kind))
    return costOfWay(*way, shape.kind, spread, bytes);
  if (algorithm == plan::RING && (reduces || shape.kind == plan::BROADCAST))
    return rootedRing(spread, bytes);
  if (algorithm == plan::RECURSIVE_DOUBLING && shape.kind == plan::BROADCAST)
    return doubling(spread, bytes, 1, /*isWhole=*/true);
  return reduces || shape.kind == plan::GATHER ? costOfTurns(spread, shape)
                                               : costOfRounds(spread, shape);
}

/// On one level by the bytes that are really sent, which may not divide.
TransferCost fixedCost(const Spread &spread, const CollectiveShape &shape,
                       double bytes) {
  if (shape.kind == plan::SEND_RECEIVE)
    return direct(spread, bytes, false);
  return spread.levels.size() > 1
             ? costOverLevels(spread, shape, effectiveAlgorithm(shape), bytes)
             : costOfRounds(spread, shape);
}

/// A cost and the protocol that it has.
struct Priced {
  TransferCost cost;
  std::string protocol;
};

/// The cost that `form` gives a group by a way's quickest protocol.
template <typename Form>
Priced takeQuickest(const Cluster &cluster, const GroupPlace &place,
                    CollectiveWay way, Form form) {
  std::optional<Priced> best;
  for (const CollectiveProtocol &protocol : cluster.protocols) {
    if (protocol.way != way)
      continue;
    TransferCost cost = form(Spread(cluster, place, protocol));
    cost.latencySeconds += protocol.startSeconds;
    for (double share : protocol.bandwidthShare)
      cost.slowness.push_back(1 / share);
    if (!best || cost.seconds(cluster) < best->cost.seconds(cluster))
      best = Priced{std::move(cost), protocol.name};
  }
  return best ? *best : Priced{form(Spread(cluster, place)), ""};
}

/// In the cluster's quickest way.
struct Chosen {
  CollectiveMethod method;
  TransferCost cost;
};

Chosen choose(const Cluster &cluster, plan::CollectiveKind kind,
              const GroupPlace &place, double bytes) {
  std::optional<Chosen> best;
  for (CollectiveWay each : cluster.ways) {
    const CollectiveWay way = usedWay(each, kind);
    Priced priced =
        takeQuickest(cluster, place, way, [&](const Spread &spread) {
          return costOfWay(way, kind, spread, bytes);
        });
    if (!best || priced.cost.seconds(cluster) < best->cost.seconds(cluster))
      best = Chosen{{way, std::move(priced.protocol)}, std::move(priced.cost)};
  }
  return *best; // a cluster has one way at least
}

/// Seconds of the collective by those of its kind that were timed, ascending in
/// size; below the smallest as long as that, above the largest in proportion.
double interpolate(const std::vector<MeasuredCollective> &rows, double bytes) {
  if (bytes <= rows.front().bytes)
    return rows.front().seconds;
  const MeasuredCollective *below = &rows.front();
  for (const MeasuredCollective &row : rows) {
    if (row.bytes >= bytes) {
      const double share = (bytes - below->bytes) / (row.bytes - below->bytes);
      return below->seconds + share * (row.seconds - below->seconds);
    }
    below = &row;
  }
  return below->seconds * bytes / below->bytes;
}

/// The rows of a kind for as many ranks, or for the most below that.
std::vector<MeasuredCollective>
findRows(const Cluster &cluster, plan::CollectiveKind kind, int64_t ranks) {
  std::vector<MeasuredCollective> rows;
  for (const MeasuredCollective &row : cluster.measuredCollectives) {
    if (row.kind != kind || row.ranks > ranks)
      continue;
    if (!rows.empty() && rows.front().ranks != row.ranks)
      rows.clear();
    rows.push_back(row);
  }
  return rows;
}

/// Makes the cost on the innermost level be what was timed, if it was.
void takeMeasured(const Cluster &cluster, plan::CollectiveKind kind,
                  int64_t ranks, double bytes, TransferCost &cost) {
  const std::vector<MeasuredCollective> rows = findRows(cluster, kind, ranks);
  if (rows.empty())
    return;
  const double seconds = interpolate(rows, bytes);
  // For fewer ranks it is a lower bound.
  if (rows.front().ranks < ranks && seconds <= cost.seconds(cluster))
    return;
  cost.latencySeconds = std::min(rows.front().seconds, seconds);
  const double rest = seconds - cost.latencySeconds;
  const double rate = cluster.levels[0].bytesPerSecond;
  cost.slowness.assign(cost.bytes.size(), 1);
  if (rate > 0 && cost.bytes[0] > 0)
    cost.slowness[0] = rest * rate / cost.bytes[0];
  else // bytes take no time there
    cost.latencySeconds += rest;
}

/// Whether rows say how long a collective takes in this algorithm.
bool isTimed(const Cluster &cluster, plan::CollectiveAlgorithm algorithm,
             const Spread &spread) {
  const bool isInside =
      spread.levels.size() == 1 && spread.levels[0].level == 0;
  const bool hasRingAlone =
      cluster.ways.size() == 1 && cluster.ways[0] == CollectiveWay::Ring;
  return isInside &&
         (algorithm == plan::AUTO || (algorithm == plan::RING && hasRingAlone));
}

/// One that the plan has fixed, by the quickest protocol of its way, if it is
/// one of the cluster's.
TransferCost costOfFixed(const Cluster &cluster, plan::CollectiveKind kind,
                         plan::CollectiveAlgorithm algorithm,
                         const GroupPlace &place, double bytes) {
  const CollectiveShape shape =
      fixedShape(Spread(cluster, place), kind, algorithm, bytes);
  auto form = [&](const Spread &spread) {
    return fixedCost(spread, shape, bytes);
  };
  const std::optional<CollectiveWay> way = wayOf(effectiveAlgorithm(shape));
  return way && hasWays(kind) ? takeQuickest(cluster, place, *way, form).cost
                              : form(Spread(cluster, place));
}

TransferCost costOfForm(const Cluster &cluster, plan::CollectiveKind kind,
                        plan::CollectiveAlgorithm algorithm,
                        const GroupPlace &place, const Spread &spread,
                        double bytes) {
  if (algorithm != plan::AUTO)
    return costOfFixed(cluster, kind, algorithm, place, bytes);
  if (hasWays(kind))
    return choose(cluster, kind, place, bytes).cost;
  if (kind == plan::BROADCAST || kind == plan::REDUCE)
    return rootedRing(spread, bytes);
  return direct(spread, bytes, kind != plan::SEND_RECEIVE);
}

} // namespace

bool hasWays(plan::CollectiveKind kind) {
  return kind == plan::ALL_REDUCE || kind == plan::ALL_GATHER ||
         kind == plan::REDUCE_SCATTER;
}

CollectiveMethod methodOnCluster(const Cluster &cluster,
                                 plan::CollectiveKind kind,
                                 const GroupPlace &place, double bytes) {
  return choose(cluster, kind, place, bytes).method;
}

TransferCost costOnCluster(const Cluster &cluster, plan::CollectiveKind kind,
                           plan::CollectiveAlgorithm algorithm,
                           const GroupPlace &place, double bytes) {
  const Spread spread(cluster, place);
  if (spread.levels.empty())
    return spread.none();
  TransferCost cost =
      costOfForm(cluster, kind, algorithm, place, spread, bytes);
  if (isTimed(cluster, algorithm, spread))
    takeMeasured(cluster, kind,
                 kind == plan::SEND_RECEIVE ? 2 : int64_t(spread.ranks), bytes,
                 cost);
  return cost;
}

TransferCost messageCost(const Cluster &cluster, int from, int to,
                         double bytes) {
  TransferCost cost{0, std::vector<double>(cluster.levels.size(), 0)};
  for (size_t i = 0; i < cluster.levels.size(); ++i) {
    const LinkLevel &level = cluster.levels[i];
    const bool isInside = from / level.size == to / level.size;
    if (!isInside && i + 1 < cluster.levels.size())
      continue;
    cost.latencySeconds = level.latencySeconds;
    cost.bytes[i] = bytes;
    if (i == 0)
      takeMeasured(cluster, plan::SEND_RECEIVE, 2, bytes, cost);
    break;
  }
  return cost;
}

} // namespace zc
