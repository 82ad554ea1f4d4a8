//===- Replicas.cpp - stages that several roles have ----------------------===//
#include "passes/Pipeline/Replicas.h"

#include <algorithm>
#include <limits>

namespace zc {
namespace {

constexpr double kImpossible = std::numeric_limits<double>::infinity();

/// A stage of the segments [begin, end).
struct Span {
  int64_t begin, end;
};

class Dealer {
public:
  Dealer(const std::vector<Segment> &segments, int64_t roles,
         int64_t microBatches, const ReplicaCosts &costs,
         const MemoryLimit &memory)
      : segments(segments), roles(roles), microBatches(microBatches),
        costs(costs), memory(memory), count(int64_t(segments.size())),
        time(count + 1), trained(count + 1), single(count + 1),
        stash(count + 1), bytes(count), held(count) {
    for (int64_t i = 0; i < count; ++i) {
      time[i + 1] = time[i] + segments[i].seconds;
      trained[i + 1] = trained[i] + segments[i].trains;
      single[i + 1] = single[i] + segments[i].isSingle;
      stash[i + 1] = stash[i] + segments[i].stashBytes;
    }
    for (int64_t begin = 0; begin < count; ++begin)
      addTensors(begin);
  }

  double timeOf(Span span) const { return time[span.end] - time[span.begin]; }
  double cutOf(Span span) const {
    return span.begin ? segments[span.begin].cutSeconds : 0;
  }

  /// Seconds of the stage after its first micro-batch; kImpossible: not
  /// allowed.
  double waitOf(Span span, int64_t replicas) const {
    const bool isSingle = single[span.end] > single[span.begin];
    if (trained[span.end] == trained[span.begin] || replicas > microBatches ||
        (isSingle && replicas > 1))
      return kImpossible;
    const int64_t own = (microBatches + replicas - 1) / replicas;
    const double parts = double(replicas);
    double sum = 0;
    if (costs.linkBytes > 0)
      sum = 2 * (parts - 1) / parts * bytes[span.begin][lengthOf(span)] /
            costs.linkBytes;
    return std::max(double(own - 1) * timeOf(span),
                    double(microBatches - 1) * cutOf(span)) +
           sum;
  }

  /// `behind`: the roles from the stage's first on.
  bool fits(Span span, int64_t replicas, int64_t behind) const {
    if (memory.bytes <= 0)
      return true;
    const int64_t own = (microBatches + replicas - 1) / replicas;
    const int64_t inFlight = std::min(own, (behind + replicas - 1) / replicas);
    // The same count of a stage's bytes as in Partition.cpp.
    double messages = span.begin > 0 ? 3 * segments[span.begin].cutBytes : 0;
    if (span.end < count)
      messages += 4 * segments[span.end].cutBytes;
    return held[span.begin][lengthOf(span)] +
               double(inFlight) * (stash[span.end] - stash[span.begin]) +
               messages <=
           memory.bytes;
  }

  std::vector<double> listWaits() const {
    std::vector<double> waits;
    for (int64_t begin = 0; begin < count; ++begin)
      for (int64_t end = begin + 1; end <= count; ++end)
        for (int64_t replicas = 1; replicas <= roles; ++replicas)
          if (double wait = waitOf({begin, end}, replicas); wait < kImpossible)
            waits.push_back(wait);
    std::sort(waits.begin(), waits.end());
    waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
    return waits;
  }

  /// The stages with the least sum of times, none of which waits for more than
  /// `limit`; kImpossible: there are none.
  double solve(double limit, ReplicatedPartition &found) const {
    const size_t width = size_t(roles) + 1;
    std::vector<double> best(size_t(count + 1) * width, kImpossible);
    std::vector<std::pair<int64_t, int64_t>> from(best.size());
    best[0] = 0;
    for (int64_t begin = 0; begin < count; ++begin)
      for (int64_t used = 0; used < roles; ++used) {
        const double before = best[size_t(begin) * width + size_t(used)];
        if (before == kImpossible)
          continue;
        for (int64_t end = begin + 1; end <= count; ++end)
          for (int64_t more = 1; used + more <= roles; ++more) {
            const Span span{begin, end};
            const double sum = before + timeOf(span) + cutOf(span);
            const size_t at = size_t(end) * width + size_t(used + more);
            if (sum < best[at] && waitOf(span, more) <= limit &&
                fits(span, more, roles - used)) {
              best[at] = sum;
              from[at] = {begin, used};
            }
          }
      }
    const double sum = best.back();
    found.begins.clear();
    found.replicas.clear();
    for (int64_t end = count, used = roles; sum < kImpossible && end > 0;) {
      auto [begin, before] = from[size_t(end) * width + size_t(used)];
      found.begins.push_back(begin);
      found.replicas.push_back(used - before);
      end = begin;
      used = before;
    }
    std::reverse(found.begins.begin(), found.begins.end());
    std::reverse(found.replicas.begin(), found.replicas.end());
    return sum;
  }

private:
  static size_t lengthOf(Span span) {
    return size_t(span.end - span.begin - 1);
  }

  /// For the segments [begin, begin + 1), [begin, begin + 2), ...: each tensor
  /// counts once.
  void addTensors(int64_t begin) {
    std::vector<bool> seen(
        std::max(memory.tensorBytes.size(), costs.gradientBytes.size()));
    double gradients = 0, all = 0, work = 0;
    for (int64_t i = begin; i < count; ++i) {
      work = std::max(work, segments[i].workBytes);
      for (size_t tensor : segments[i].tensors) {
        if (seen[tensor])
          continue;
        seen[tensor] = true;
        if (tensor < memory.tensorBytes.size())
          all += memory.tensorBytes[tensor];
        if (tensor < costs.gradientBytes.size())
          gradients += costs.gradientBytes[tensor];
      }
      bytes[begin].push_back(gradients);
      held[begin].push_back(all + work);
    }
  }

  const std::vector<Segment> &segments;
  const int64_t roles, microBatches;
  const ReplicaCosts &costs;
  const MemoryLimit &memory;
  const int64_t count;
  std::vector<double> time;     // of all segments in front
  std::vector<int64_t> trained; // segments in front that train
  std::vector<int64_t> single;  // and those that one role has
  std::vector<double> stash;    // bytes of all segments in front
  std::vector<std::vector<double>> bytes, held; // by first segment and length
};

/// The least limit for which there are stages.
size_t findFirst(const Dealer &dealer, const std::vector<double> &waits) {
  size_t low = 0, high = waits.size();
  ReplicatedPartition found;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (dealer.solve(waits[middle], found) < kImpossible)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

std::optional<ReplicatedPartition> choose(const Dealer &dealer) {
  const std::vector<double> waits = dealer.listWaits();
  std::optional<ReplicatedPartition> best;
  for (size_t i = findFirst(dealer, waits); i < waits.size(); ++i) {
    if (best && waits[i] >= best->seconds)
      break;
    ReplicatedPartition found;
    found.seconds = dealer.solve(waits[i], found) + waits[i];
    // Among equal ones, up to rounding, take the one that waits least.
    if (!best || found.seconds < best->seconds * (1 - 1e-9))
      best = std::move(found);
  }
  return best;
}

} // namespace

std::optional<ReplicatedPartition>
partitionReplicated(const std::vector<Segment> &segments, int64_t roles,
                    int64_t microBatches, const ReplicaCosts &costs,
                    const MemoryLimit &memory) {
  std::optional<ReplicatedPartition> best =
      choose(Dealer(segments, roles, microBatches, costs, memory));
  if (best || memory.bytes <= 0)
    return best;
  // Nothing fits: the final check says by how much.
  MemoryLimit any = memory;
  any.bytes = 0;
  return choose(Dealer(segments, roles, microBatches, costs, any));
}

double estimateReplicated(const std::vector<Segment> &segments,
                          int64_t microBatches, const ReplicaCosts &costs,
                          const std::vector<int64_t> &begins,
                          const std::vector<int64_t> &replicas) {
  const MemoryLimit memory;
  Dealer dealer(segments, 1, microBatches, costs, memory);
  double sum = 0, wait = 0;
  for (size_t stage = 0; stage < begins.size(); ++stage) {
    const bool isLast = stage + 1 == begins.size();
    const Span span{begins[stage],
                    isLast ? int64_t(segments.size()) : begins[stage + 1]};
    sum += dealer.timeOf(span) + dealer.cutOf(span);
    wait = std::max(wait, dealer.waitOf(span, replicas[stage]));
  }
  return sum + wait;
}

} // namespace zc
