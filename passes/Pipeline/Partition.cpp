//===- Partition.cpp - stages of a pipeline by dynamic programming --------===//
#include "passes/Pipeline/Partition.h"

#include <algorithm>
#include <limits>

namespace zc {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

class Partitioner {
public:
  Partitioner(const std::vector<Segment> &segments, int64_t stages)
      : segments(segments), stages(stages), count(int64_t(segments.size())),
        time(count + 1), trained(count + 1) {
    for (int64_t i = 0; i < count; ++i) {
      time[i + 1] = time[i] + segments[i].seconds;
      trained[i + 1] = trained[i] + segments[i].trains;
    }
  }

  /// The times that some stage could have, ascending.
  std::vector<double> bottlenecks() const {
    std::vector<double> times;
    for (int64_t begin = 0; begin < count; ++begin)
      for (int64_t end = begin + 1; end <= count; ++end)
        if (isStage(begin, end))
          times.push_back(slowest(begin, end));
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    return times;
  }

  /// The least sum of times with no stage above `limit`; kNever: there is none.
  double solve(double limit, std::vector<int64_t> &begins) const {
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
          if (!isStage(begin, end) || slowest(begin, end) > limit)
            continue;
          double sum = best[stage - 1][begin] + time[end] - time[begin] +
                       cutSeconds(begin);
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

private:
  bool isStage(int64_t begin, int64_t end) const {
    return trained[end] > trained[begin];
  }
  double cutSeconds(int64_t begin) const {
    return begin ? segments[begin].cutSeconds : 0;
  }
  /// A stage sends while it computes, so that the longer of both counts.
  double slowest(int64_t begin, int64_t end) const {
    return std::max(time[end] - time[begin], cutSeconds(begin));
  }

  const std::vector<Segment> &segments;
  const int64_t stages, count;
  std::vector<double> time;     // of all segments in front
  std::vector<int64_t> trained; // segments in front that train
};

} // namespace

std::optional<Partition> partition(const std::vector<Segment> &segments,
                                   int64_t stages, int64_t microBatches) {
  Partitioner partitioner(segments, stages);
  std::optional<Partition> best;
  for (double limit : partitioner.bottlenecks()) {
    double waiting = double(microBatches - 1) * limit;
    if (best && waiting >= best->seconds)
      break;
    Partition found;
    double sum = partitioner.solve(limit, found.begins);
    if (sum == kNever)
      continue;
    found.slowest = limit;
    found.seconds = sum + waiting;
    // Of equal ones, up to rounding, the most even.
    if (!best || found.seconds < best->seconds * (1 - 1e-9))
      best = std::move(found);
  }
  return best;
}

} // namespace zc
