// Shared by the builders of schedules. Private to this folder.
#ifndef ZC_RUNTIME_PLAN_COLLECTIVE_BUILDER_H
#define ZC_RUNTIME_PLAN_COLLECTIVE_BUILDER_H

#include "runtime/Plan/Collective/Schedule.h"

namespace zc::collective {

inline Span source(int64_t begin, int64_t count) {
  return {Place::Source, begin, count};
}
inline Span destination(int64_t begin, int64_t count) {
  return {Place::Destination, begin, count};
}
inline Span workspace(int64_t begin, int64_t count) {
  return {Place::Workspace, begin, count};
}

/// One rank's schedule in the making; messages without elements are left out.
struct Builder {
  const CollectiveShape &shape;
  const int64_t rank;
  Schedule schedule = {};

  int64_t ranks() const { return shape.ranks; }
  int64_t elements() const { return shape.elements; }
  int64_t part() const { return shape.elements / shape.ranks; }
  /// The rank `distance` further round the ring.
  int64_t further(int64_t distance) const {
    return ((rank + distance) % ranks() + ranks()) % ranks();
  }

  Round &addRound() {
    schedule.rounds.emplace_back();
    return schedule.rounds.back();
  }
  void copyBefore(Span into, Span from) {
    schedule.before.push_back({false, into, from});
  }
  static void send(Round &round, int64_t peer, Span span) {
    if (span.count > 0)
      round.messages.push_back({true, peer, span});
  }
  static void receive(Round &round, int64_t peer, Span span) {
    if (span.count > 0)
      round.messages.push_back({false, peer, span});
  }
  static void copy(Round &round, Span into, Span from) {
    if (from.count > 0)
      round.after.push_back({false, into, from});
  }
  static void reduce(Round &round, Span into, Span from) {
    if (from.count > 0)
      round.after.push_back({true, into, from});
  }

  /// Adds up all ranks' terms in the order of ranks, into the destination:
  /// `own` is this rank's; the others' are in the workspace, `count` elements
  /// each, in the order of their ranks.
  void reduceInRankOrder(Round &round, Span own, int64_t count) const {
    auto of = [&](int64_t r) {
      return r == rank ? own : workspace((r < rank ? r : r - 1) * count, count);
    };
    // The first one's place adds up: own bytes must not be overwritten before
    // they are added.
    Span total = rank == 0 ? destination(0, count) : of(0);
    if (rank == 0)
      copy(round, total, own);
    for (int64_t r = 1; r < ranks(); ++r)
      reduce(round, total, of(r));
    if (rank != 0)
      copy(round, destination(0, count), total);
  }
};

void buildAllReduce(Builder &builder, plan::CollectiveAlgorithm algorithm);
void buildGather(Builder &builder, plan::CollectiveAlgorithm algorithm);
void buildReduceScatter(Builder &builder, plan::CollectiveAlgorithm algorithm);
void buildBroadcast(Builder &builder, plan::CollectiveAlgorithm algorithm);
void buildReduce(Builder &builder, plan::CollectiveAlgorithm algorithm);

/// From every rank having its part of the destination to all having all.
void addGatherRing(Builder &builder, const Parts &parts);

} // namespace zc::collective

#endif // ZC_RUNTIME_PLAN_COLLECTIVE_BUILDER_H
