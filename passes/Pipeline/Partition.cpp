//===- Partition.cpp - stages of a pipeline by dynamic programming --------===//
#include "passes/Pipeline/Partition.h"

#include <algorithm>
#include <limits>
#include <set>

namespace zc {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

class Partitioner {
public:
  Partitioner(const std::vector<Segment> &segments, int64_t stages,
              const MemoryLimit &memory, const LinkShares &links)
      : segments(segments), stages(stages), count(int64_t(segments.size())),
        memory(memory), links(links), time(count + 1), trained(count + 1),
        stash(count + 1), held(count) {
    for (int64_t i = 0; i < count; ++i) {
      time[i + 1] = time[i] + segments[i].seconds;
      trained[i + 1] = trained[i] + segments[i].trains;
      stash[i + 1] = stash[i] + segments[i].stashBytes;
    }
    for (int64_t begin = 0; begin < count; ++begin)
      held[begin] = listHeld(begin);
  }

  /// The times that some stage could have, ascending.
  std::vector<double> bottlenecks() const {
    std::set<double> shares;
    for (int64_t stage = 1; stage < stages; ++stage)
      shares.insert(linkShare(stage));
    if (shares.empty()) // one stage, which nothing is sent to
      shares.insert(1);
    std::vector<double> times;
    for (double share : shares)
      for (int64_t begin = 0; begin < count; ++begin)
        for (int64_t end = begin + 1; end <= count; ++end)
          if (isStage(begin, end))
            times.push_back(slowest(begin, end, share));
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    return times;
  }

  /// The bytes that the stage with the segments [begin, end) needs.
  double bytesOf(int64_t stage, int64_t begin, int64_t end) const {
    double inFlight = stage < int64_t(memory.inFlight.size())
                          ? double(memory.inFlight[stage])
                          : 1;
    // Received values are kept in one slot more than there are micro-batches in
    // flight; values in transit have two, also gradients at both ends.
    double messages = begin > 0 ? 3 * segments[begin].cutBytes : 0;
    if (end < count)
      messages += 4 * segments[end].cutBytes;
    return held[begin][end - begin - 1] +
           inFlight * (stash[end] - stash[begin]) + messages;
  }

  /// The least bytes of the stage that needs most; kNever: there are too few
  /// segments that train.
  double leastBytes() const {
    std::vector<double> best(count + 1, kNever);
    best[0] = 0;
    for (int64_t stage = 0; stage < stages; ++stage) {
      std::vector<double> next(count + 1, kNever);
      for (int64_t end = stage + 1; end <= count; ++end)
        for (int64_t begin = stage; begin < end; ++begin)
          if (isStage(begin, end))
            next[end] = std::min(
                next[end], std::max(best[begin], bytesOf(stage, begin, end)));
      best = std::move(next);
    }
    return best[count];
  }

  /// The least sum of times with no stage above `limit` or `mostBytes`; kNever:
  /// there is none.
  double solve(double limit, double mostBytes,
               std::vector<int64_t> &begins) const {
    std::vector<std::vector<double>> best(
        stages + 1, std::vector<double>(count + 1, kNever));
    std::vector<std::vector<int64_t>> from(stages + 1,
                                           std::vector<int64_t>(count + 1, -1));
    best[0][0] = 0;
    for (int64_t stage = 1; stage <= stages; ++stage)
      for (int64_t end = stage; end <= count; ++end)
        for (int64_t begin = end - 1; begin >= stage - 1; --begin) {
          // Longer stages only take longer.
          if (time[end] - time[begin] > limit)
            break;
          if (!isStage(begin, end) ||
              slowest(begin, end, linkShare(stage - 1)) > limit ||
              bytesOf(stage - 1, begin, end) > mostBytes)
            continue;
          double sum = best[stage - 1][begin] + time[end] - time[begin] +
                       cutSeconds(begin, linkShare(stage - 1));
          if (sum < best[stage][end] ||
              (sum == best[stage][end] && sum < kNever)) {
            best[stage][end] = sum;
            from[stage][end] = begin;
          }
        }
    begins.assign(stages, 0);
    for (int64_t stage = stages, end = count;
         stage > 0 && from[stage][end] >= 0; --stage)
      end = begins[stage - 1] = from[stage][end];
    return best[stages][count];
  }

  double mostBytes(const std::vector<int64_t> &begins) const {
    double most = 0;
    for (int64_t stage = 0; stage < stages; ++stage)
      most = std::max(most,
                      bytesOf(stage, begins[stage],
                              stage + 1 < stages ? begins[stage + 1] : count));
    return most;
  }

private:
  /// Bytes of the tensors that the segments [begin, begin + 1), [begin, begin +
  /// 2), ... read, each counted once, plus their largest working set.
  std::vector<double> listHeld(int64_t begin) const {
    std::vector<double> list;
    std::vector<bool> seen(memory.tensorBytes.size(), false);
    double bytes = 0, work = 0;
    for (int64_t i = begin; i < count; ++i) {
      work = std::max(work, segments[i].workBytes);
      for (size_t tensor : segments[i].tensors)
        if (!seen[tensor]) {
          seen[tensor] = true;
          bytes += memory.tensorBytes[tensor];
        }
      list.push_back(bytes + work);
    }
    return list;
  }
  bool isStage(int64_t begin, int64_t end) const {
    return trained[end] > trained[begin];
  }
  /// The share of the link in front of a stage.
  double linkShare(int64_t stage) const {
    return stage < int64_t(links.size()) ? links[stage] : 1;
  }
  double cutSeconds(int64_t begin, double share) const {
    return begin ? segments[begin].cutSeconds * share : 0;
  }
  /// A stage sends while it computes, so that the longer of both counts.
  double slowest(int64_t begin, int64_t end, double share) const {
    return std::max(time[end] - time[begin], cutSeconds(begin, share));
  }

  const std::vector<Segment> &segments;
  const int64_t stages, count;
  const MemoryLimit &memory;
  const LinkShares &links;
  std::vector<double> time;              // of all segments in front
  std::vector<int64_t> trained;          // segments in front that train
  std::vector<double> stash;             // bytes of all segments in front
  std::vector<std::vector<double>> held; // by first segment and length
};

} // namespace

std::optional<Partition> partition(const std::vector<Segment> &segments,
                                   int64_t stages, int64_t microBatches,
                                   const MemoryLimit &memory,
                                   const LinkShares &links) {
  Partitioner partitioner(segments, stages, memory, links);
  double mostBytes = kNever;
  if (memory.bytes > 0)
    mostBytes = std::max(memory.bytes, partitioner.leastBytes());
  std::optional<Partition> best;
  for (double limit : partitioner.bottlenecks()) {
    double waiting = double(microBatches - 1) * limit;
    if (best && waiting >= best->seconds)
      break;
    Partition found;
    double sum = partitioner.solve(limit, mostBytes, found.begins);
    if (sum == kNever)
      continue;
    found.slowest = limit;
    found.seconds = sum + waiting;
    // Among equal ones, up to rounding, take the most even.
    if (!best || found.seconds < best->seconds * (1 - 1e-9))
      best = std::move(found);
  }
  if (best)
    best->mostBytes = partitioner.mostBytes(best->begins);
  return best;
}

} // namespace zc
