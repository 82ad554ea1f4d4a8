#include "runtime/Plan/Order/Schedules.h"
#include "runtime/Plan/Order/ListSchedule.h"

#include <algorithm>
#include <map>

namespace zc {
namespace {

using Works = std::vector<StageWork>;

Works naive(uint32_t role, uint32_t microBatches) {
  Works works;
  for (uint32_t k = 0; k < microBatches; ++k) {
    works.push_back({Work::Forward, role, k});
    works.push_back({Work::Backward, role, k});
  }
  return works;
}

Works gpipe(uint32_t role, uint32_t microBatches) {
  Works works;
  for (Work work : {Work::Forward, Work::Backward})
    for (uint32_t k = 0; k < microBatches; ++k)
      works.push_back({work, role, k});
  return works;
}

/// One of the roles of a stage; `behind` counts the roles from its stage's
/// first one to the last.
struct Replica {
  uint32_t stage, turn, replicas, behind;

  /// The micro-batches that it computes, by their places among its own.
  uint32_t count(uint32_t microBatches) const {
    return (microBatches - turn + replicas - 1) / replicas;
  }
  StageWork work(Work kind, uint32_t place) const {
    return {kind, stage, turn + place * replicas};
  }
};

Works worksOfReplica(const std::string &name, const Replica &replica,
                     uint32_t microBatches) {
  const uint32_t count = replica.count(microBatches);
  uint32_t first = (replica.behind + replica.replicas - 1) / replica.replicas;
  if (name == "naive")
    first = 1;
  if (name == "gpipe")
    first = count;
  Works works;
  uint32_t forwards = 0;
  while (forwards < std::min(first, count))
    works.push_back(replica.work(Work::Forward, forwards++));
  for (uint32_t k = 0; k < count; ++k) {
    works.push_back(replica.work(Work::Backward, k));
    if (forwards < count)
      works.push_back(replica.work(Work::Forward, forwards++));
  }
  return works;
}

Works oneForwardOneBackward(uint32_t roles, uint32_t role,
                            uint32_t microBatches) {
  Works works;
  uint32_t forwards = std::min(microBatches, roles - role);
  for (uint32_t k = 0; k < forwards; ++k)
    works.push_back({Work::Forward, role, k});
  for (uint32_t k = 0; k < microBatches; ++k) {
    works.push_back({Work::Backward, role, k});
    if (forwards < microBatches)
      works.push_back({Work::Forward, role, forwards++});
  }
  return works;
}

/// Megatron's: micro-batches go through a role's chunks in groups as large as
/// the pipeline is long.
Works interleaved(uint32_t roles, uint32_t role, uint32_t microBatches,
                  uint32_t chunks) {
  const uint32_t total = microBatches * chunks, group = roles * chunks;
  auto work = [&](uint32_t i, Work kind) {
    uint32_t chunk = i % group / roles;
    if (kind == Work::Backward)
      chunk = chunks - 1 - chunk;
    return StageWork{kind, chunk * roles + role, i / group * roles + i % roles};
  };
  const uint32_t warmUp =
      microBatches == roles
          ? total
          : std::min(total, (roles - role - 1) * 2 + (chunks - 1) * roles);
  Works works;
  for (uint32_t i = 0; i < warmUp; ++i)
    works.push_back(work(i, Work::Forward));
  for (uint32_t i = 0; i < total; ++i) {
    if (warmUp + i < total)
      works.push_back(work(warmUp + i, Work::Forward));
    works.push_back(work(i, Work::Backward));
  }
  return works;
}

/// A role's first weights come as many backwards late as its number.
Works zeroBubbleH1(uint32_t roles, uint32_t role, uint32_t microBatches) {
  const uint32_t warmUp = std::min(microBatches, roles - 1 - role);
  Works works;
  for (uint32_t k = 0; k < warmUp; ++k)
    works.push_back({Work::Forward, role, k});
  uint32_t backwards = 0, weights = 0;
  for (uint32_t forwards = warmUp; forwards < microBatches;) {
    works.push_back({Work::Forward, role, forwards++});
    works.push_back({Work::Backward, role, backwards++});
    if (forwards - warmUp > role)
      works.push_back({Work::Weights, role, weights++});
  }
  while (backwards < microBatches) {
    works.push_back({Work::Backward, role, backwards++});
    works.push_back({Work::Weights, role, weights++});
  }
  while (weights < microBatches)
    works.push_back({Work::Weights, role, weights++});
  return works;
}

/// The published order for stages that go down the roles and back up.
Works zeroBubbleV(uint32_t roles, uint32_t role, uint32_t microBatches) {
  Works works;
  uint32_t done[3][2] = {};
  auto count = [&](Work work, int chunk) -> uint32_t & {
    return done[int(work)][chunk];
  };
  auto add = [&](Work work, int chunk) {
    uint32_t stage = chunk == 0 ? role : 2 * roles - 1 - role;
    works.push_back({work, stage, count(work, chunk)++});
  };
  auto addAll = [&](int chunk) {
    add(Work::Forward, chunk);
    add(Work::Backward, chunk);
    add(Work::Weights, chunk);
  };
  for (uint32_t i = 0; i < 2 * (roles - role) - 1; ++i)
    add(Work::Forward, 0);
  for (uint32_t i = 0; i < role; ++i) {
    add(Work::Forward, 1);
    add(Work::Forward, 0);
  }
  for (uint32_t i = 0; i < roles - role; ++i)
    addAll(1);
  while (count(Work::Forward, 1) < count(Work::Forward, 0) ||
         count(Work::Forward, 0) < microBatches) {
    if (count(Work::Forward, 0) < microBatches)
      add(Work::Forward, 0);
    add(Work::Backward, 0);
    add(Work::Weights, 0);
    addAll(1);
  }
  for (uint32_t i = 0; i < role; ++i) {
    add(Work::Backward, 0);
    add(Work::Backward, 1);
  }
  for (uint32_t i = 0; i < roles - role; ++i) {
    add(Work::Backward, 0);
    add(Work::Weights, 0);
  }
  for (int chunk : {1, 0})
    while (count(Work::Weights, chunk) < count(Work::Backward, chunk))
      add(Work::Weights, chunk);
  return works;
}

Works worksOf(const ScheduleRequest &request, uint32_t role) {
  const uint32_t microBatches = request.microBatches;
  if (request.name == "naive")
    return naive(role, microBatches);
  if (request.name == "gpipe")
    return gpipe(role, microBatches);
  if (request.name == "interleaved")
    return interleaved(request.roles, role, microBatches, request.chunks);
  if (request.name == "zb-h1")
    return zeroBubbleH1(request.roles, role, microBatches);
  if (request.name == "zb-v")
    return zeroBubbleV(request.roles, role, microBatches);
  return oneForwardOneBackward(request.roles, role, microBatches);
}

/// How many stages a role has.
Result<uint32_t> chunksOf(const ScheduleRequest &request) {
  const uint32_t roles = request.roles, microBatches = request.microBatches;
  for (const char *name :
       {"naive", "gpipe", "1f1b", "flush", "2bw", "stash", "zb-h1", "zb-h2"})
    if (request.name == name)
      return 1;
  if (request.name == "zb-v") {
    if (microBatches < 2 * roles - 1)
      return makeError(StatusCode::InvalidArgument, "schedule zb-v of ", roles,
                       " roles needs at least ", 2 * roles - 1,
                       " micro-batches, not ", microBatches);
    return 2;
  }
  if (request.name != "interleaved")
    return makeError(StatusCode::InvalidArgument, "there is no schedule '",
                     request.name, "'");
  if (request.chunks < 1 || request.chunks > 1024)
    return makeError(StatusCode::InvalidArgument, "a role has ", request.chunks,
                     " stages");
  if (microBatches % roles != 0)
    return makeError(StatusCode::InvalidArgument, "schedule interleaved of ",
                     roles, " roles needs a multiple of ", roles,
                     " micro-batches, not ", microBatches);
  return request.chunks;
}

Result<PipelineSchedule> makeReplicated(const ScheduleRequest &request) {
  PipelineSchedule schedule;
  schedule.microBatches = request.microBatches;
  schedule.replicas = request.replicas;
  if (request.name != "naive" && request.name != "gpipe" &&
      request.name != "1f1b" && request.name != "flush")
    return makeError(StatusCode::InvalidArgument, "schedule ", request.name,
                     " has no replicas of stages; 1f1b, gpipe and naive do");
  uint64_t roles = 0;
  for (uint32_t each : request.replicas) {
    if (each < 1 || each > request.microBatches)
      return makeError(StatusCode::InvalidArgument, "a stage has ", each,
                       " replicas, which take turns with ",
                       request.microBatches,
                       " micro-batches; each needs one at least");
    roles += each;
  }
  if (roles != request.roles)
    return makeError(StatusCode::InvalidArgument, "the stages have ", roles,
                     " replicas in all for ", request.roles, " roles");
  for (uint32_t stage = 0; stage < request.replicas.size(); ++stage) {
    const auto role = uint32_t(schedule.roles.size());
    schedule.roleOfStage.push_back(role);
    for (uint32_t turn = 0; turn < request.replicas[stage]; ++turn)
      schedule.roles.push_back(worksOfReplica(
          request.name,
          {stage, turn, request.replicas[stage], request.roles - role},
          request.microBatches));
  }
  return schedule;
}

/// The time at which each stage's works have ended; negative: not yet.
class Ends {
public:
  Ends(const PipelineSchedule &schedule)
      : microBatches(schedule.microBatches),
        ends(3 * schedule.roleOfStage.size() * microBatches, -1) {}
  double &of(Work work, uint32_t stage, uint32_t microBatch) {
    return ends[(size_t(stage) * 3 + size_t(work)) * microBatches + microBatch];
  }

private:
  size_t microBatches;
  std::vector<double> ends;
};

/// When what a work needs is there; negative: not yet.
double readyAt(const PipelineSchedule &schedule, const WorkCosts &costs,
               Ends &ends, const StageWork &work) {
  double ready = 0;
  auto need = [&](Work kind, uint32_t stage) {
    double end = ends.of(kind, stage, work.microBatch);
    bool travels = schedule.roleOf(stage, work.microBatch) !=
                   schedule.roleOf(work.stage, work.microBatch);
    if (end < 0 || ready < 0)
      ready = -1;
    else
      ready = std::max(ready, end + (travels ? costs.message : 0));
  };
  if (work.work == Work::Forward && work.stage > 0)
    need(Work::Forward, work.stage - 1);
  if (work.work == Work::Backward) {
    need(Work::Forward, work.stage);
    if (work.stage + 1 < schedule.roleOfStage.size())
      need(Work::Backward, work.stage + 1);
  }
  if (work.work == Work::Weights)
    need(Work::Backward, work.stage);
  return ready;
}

double costOf(const PipelineSchedule &schedule, const WorkCosts &costs,
              const StageWork &work) {
  if (work.work == Work::Forward)
    return costs.forward[work.stage];
  if (work.work == Work::Weights)
    return costs.weights[work.stage];
  return costs.backward[work.stage] +
         (schedule.splitsWeights ? 0 : costs.weights[work.stage]);
}

void countInFlight(const PipelineSchedule &schedule, Timeline &timeline) {
  const Work last = schedule.splitsWeights ? Work::Weights : Work::Backward;
  timeline.inFlightOfStage.assign(schedule.roleOfStage.size(), 0);
  for (const Works &works : schedule.roles) {
    std::vector<uint32_t> ofStage(schedule.roleOfStage.size());
    uint32_t live = 0, peak = 0;
    for (const StageWork &work : works) {
      uint32_t &most = timeline.inFlightOfStage[work.stage];
      if (work.work == Work::Forward) {
        peak = std::max(peak, ++live);
        most = std::max(most, ++ofStage[work.stage]);
      }
      if (work.work == last) {
        --live;
        --ofStage[work.stage];
      }
    }
    timeline.inFlight.push_back(peak);
  }
}

} // namespace

Result<PipelineSchedule> makeSchedule(const ScheduleRequest &request) {
  constexpr uint32_t kMost = 1u << 20;
  if (request.roles < 1 || request.roles > kMost || request.microBatches < 1 ||
      request.microBatches > kMost)
    return makeError(StatusCode::InvalidArgument, "a schedule of ",
                     request.roles, " roles and ", request.microBatches,
                     " micro-batches");
  if (!request.replicas.empty())
    return makeReplicated(request);
  ZC_ASSIGN_OR_RETURN(const uint32_t chunks, chunksOf(request));
  PipelineSchedule schedule;
  schedule.microBatches = request.microBatches;
  schedule.splitsWeights = request.name.rfind("zb-", 0) == 0;
  for (uint32_t stage = 0; stage < chunks * request.roles; ++stage) {
    uint32_t role = stage % request.roles;
    if (request.name == "zb-v" && stage >= request.roles)
      role = request.roles - 1 - role;
    schedule.roleOfStage.push_back(role);
  }
  if (request.name == "zb-h2")
    return listSchedule(
        schedule.roleOfStage, request.roles, request.microBatches,
        WorkCosts::equal(request.roles, 1, 1, 1), 2 * request.roles - 1);
  for (uint32_t role = 0; role < request.roles; ++role)
    schedule.roles.push_back(worksOf(request, role));
  return schedule;
}

uint32_t PipelineSchedule::chunkOf(uint32_t stage) const {
  return uint32_t(std::count(roleOfStage.begin(), roleOfStage.begin() + stage,
                             roleOfStage[stage]));
}

std::vector<uint32_t> PipelineSchedule::stagesOf(uint32_t role) const {
  std::vector<uint32_t> stages;
  for (uint32_t stage = 0; stage < roleOfStage.size(); ++stage)
    if (role >= roleOfStage[stage] &&
        role - roleOfStage[stage] < replicasOf(stage))
      stages.push_back(stage);
  return stages;
}

WorkCosts WorkCosts::equal(size_t stages, double forward, double backward,
                           double weights) {
  WorkCosts costs;
  costs.forward.assign(stages, forward);
  costs.backward.assign(stages, backward);
  costs.weights.assign(stages, weights);
  return costs;
}

Result<Timeline> simulateSchedule(const PipelineSchedule &schedule,
                                  const WorkCosts &costs) {
  const size_t stages = schedule.roleOfStage.size();
  if (costs.forward.size() < stages || costs.backward.size() < stages ||
      costs.weights.size() < stages)
    return makeError(StatusCode::InvalidArgument, "costs of fewer than ",
                     stages, " stages");
  Ends ends(schedule);
  Timeline timeline;
  timeline.roles.resize(schedule.roles.size());
  countInFlight(schedule, timeline);
  double busy = 0;
  bool advances = true, ended = false;
  while (advances && !ended) {
    advances = false;
    ended = true;
    for (size_t role = 0; role < schedule.roles.size(); ++role) {
      std::vector<WorkTime> &times = timeline.roles[role];
      while (times.size() < schedule.roles[role].size()) {
        const StageWork &work = schedule.roles[role][times.size()];
        const double ready = readyAt(schedule, costs, ends, work);
        if (ready < 0)
          break;
        double start = std::max(ready, times.empty() ? 0 : times.back().end);
        double cost = costOf(schedule, costs, work);
        times.push_back({start, start + cost});
        ends.of(work.work, work.stage, work.microBatch) = start + cost;
        timeline.makespan = std::max(timeline.makespan, start + cost);
        busy += cost;
        advances = true;
      }
      ended = ended && times.size() == schedule.roles[role].size();
    }
  }
  if (!ended)
    return makeError(StatusCode::InvalidArgument,
                     "the schedule's roles wait for each other");
  busy /= double(schedule.roles.size());
  if (timeline.makespan > 0 && busy > 0) {
    timeline.bubbleOfTotal = 1 - busy / timeline.makespan;
    timeline.bubbleOfIdeal = timeline.makespan / busy - 1;
  }
  return timeline;
}

} // namespace zc
