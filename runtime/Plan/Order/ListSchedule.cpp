#include "runtime/Plan/Order/ListSchedule.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace zc {
namespace {

class ListScheduler {
public:
  ListScheduler(PipelineSchedule &schedule, const WorkCosts &costs,
                uint32_t mostInFlight)
      : schedule(schedule), costs(costs), mostInFlight(mostInFlight),
        stages(schedule.roleOfStage.size()), ends(3 * stages),
        free(schedule.roles.size()), live(schedule.roles.size()) {}

  void run() {
    while (std::optional<Choice> best = choose())
      take(*best);
  }

private:
  struct Choice {
    double start;
    int priority;
    int64_t place; // late stages' forwards first, else the other way round
    StageWork work;

    bool operator<(const Choice &other) const {
      return std::tie(start, priority, place) <
             std::tie(other.start, other.priority, other.place);
    }
  };

  std::vector<double> &endsOf(Work work, size_t stage) {
    return ends[stage * 3 + size_t(work)];
  }
  /// When the work of a micro-batch is done, seen from `reader`'s role.
  std::optional<double> endOf(Work work, size_t stage, size_t microBatch,
                              size_t reader) {
    const std::vector<double> &done = endsOf(work, stage);
    if (done.size() <= microBatch)
      return std::nullopt;
    const bool travels =
        schedule.roleOfStage[stage] != schedule.roleOfStage[reader];
    return done[microBatch] + (travels ? costs.message : 0);
  }
  std::optional<double> readyAt(Work work, size_t stage, size_t microBatch) {
    if (work == Work::Weights)
      return endOf(Work::Backward, stage, microBatch, stage);
    if (work == Work::Forward)
      return stage == 0 ? std::optional<double>(0)
                        : endOf(Work::Forward, stage - 1, microBatch, stage);
    std::optional<double> own = endOf(Work::Forward, stage, microBatch, stage);
    if (!own || stage + 1 == stages)
      return own;
    std::optional<double> behind =
        endOf(Work::Backward, stage + 1, microBatch, stage);
    return behind ? std::max(own, behind) : std::nullopt;
  }

  std::optional<Choice> choose() {
    std::optional<Choice> best;
    for (size_t stage = 0; stage < stages; ++stage) {
      const uint32_t role = schedule.roleOfStage[stage];
      for (Work work : {Work::Backward, Work::Forward, Work::Weights}) {
        const size_t microBatch = endsOf(work, stage).size();
        if (microBatch >= schedule.microBatches ||
            (work == Work::Forward && live[role] >= mostInFlight))
          continue;
        std::optional<double> ready = readyAt(work, stage, microBatch);
        if (!ready)
          continue;
        const bool isForward = work == Work::Forward;
        Choice choice{std::max(*ready, free[role]),
                      work == Work::Backward ? 0
                      : isForward            ? 1
                                             : 2,
                      isForward ? -int64_t(stage) : int64_t(stage),
                      {work, uint32_t(stage), uint32_t(microBatch)}};
        if (!best || choice < *best)
          best = choice;
      }
    }
    return best;
  }

  void take(const Choice &choice) {
    const StageWork &work = choice.work;
    const uint32_t role = schedule.roleOfStage[work.stage];
    const std::vector<double> &of = work.work == Work::Forward ? costs.forward
                                    : work.work == Work::Backward
                                        ? costs.backward
                                        : costs.weights;
    free[role] = choice.start + of[work.stage];
    endsOf(work.work, work.stage).push_back(free[role]);
    schedule.roles[role].push_back(work);
    if (work.work == Work::Forward)
      ++live[role];
    if (work.work == Work::Weights)
      --live[role];
  }

  PipelineSchedule &schedule;
  const WorkCosts &costs;
  const uint32_t mostInFlight;
  const size_t stages;
  std::vector<std::vector<double>> ends; // by stage and work: micro-batches
  std::vector<double> free;              // roles' last ends
  std::vector<uint32_t> live;            // by role
};

} // namespace

PipelineSchedule listSchedule(const std::vector<uint32_t> &roleOfStage,
                              uint32_t roles, uint32_t microBatches,
                              const WorkCosts &costs, uint32_t mostInFlight) {
  PipelineSchedule schedule;
  schedule.roleOfStage = roleOfStage;
  schedule.microBatches = microBatches;
  schedule.splitsWeights = true;
  schedule.roles.resize(roles);
  ListScheduler(schedule, costs, mostInFlight).run();
  return schedule;
}

} // namespace zc
