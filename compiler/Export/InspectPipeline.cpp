//===- InspectPipeline.cpp - how roles keep each other busy ---------------===//
//
// The roles' orders as they stand in the manifest, simulated: calls take what
// their instructions ask for, messages take no time.
//
//===----------------------------------------------------------------------===//
#include "compiler/Export/Inspect.h"
#include "runtime/Plan/Mesh.h"
#include "runtime/Plan/Order/RoleUse.h"
#include "runtime/Plan/Order/RunOfSteps.h"
#include "runtime/Plan/Order/Schedules.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace zc {
namespace {

/// A drawn line's length, and what the shortest work takes of it if it can.
constexpr size_t kFewestColumns = 40, kMostColumns = 160, kWorkColumns = 3;

/// The cost of a program, in units that compare: its arithmetic or its traffic,
/// whichever is more at ten operations per byte.
double costOf(const plan::Program &program) {
  double cost = 0;
  for (const plan::Instruction &instruction : program.instructions())
    cost += std::max(instruction.flops(), 10 * instruction.bytes());
  return cost;
}

/// The programs of one of a role's stages.
class StagePrograms {
public:
  StagePrograms(const plan::Role &role, const RoleUse &use, uint32_t chunk)
      : role(role), use(use), chunk(chunk) {}

  const plan::Program *find(uint32_t parts) const {
    const int program = use.find(parts, chunk);
    return program < 0 ? nullptr : &role.programs(program);
  }
  const plan::Program *weights() const { return find(kWeightsPart); }
  const plan::Program *backward() const {
    return find(weights() ? kBackwardPart : kBackwardPart | kWeightsPart);
  }

private:
  const plan::Role &role;
  const RoleUse &use;
  const uint32_t chunk;
};

/// Where the model's stages are.
struct StagePlace {
  int role;
  uint32_t chunk;
  uint32_t replicas = 1; // roles that have the stage, from that one on
};

std::vector<StagePlace> placeStages(const plan::Manifest &manifest) {
  std::map<uint32_t, StagePlace> places;
  for (int i = 0; i < manifest.roles_size(); ++i) {
    const auto &stages = manifest.roles(i).stages();
    for (int chunk = 0; chunk < stages.size(); ++chunk)
      places.emplace(
          stages.Get(chunk), // of replicas the first
          StagePlace{i, uint32_t(chunk), Turn::of(manifest.roles(i)).turns});
    if (stages.empty())
      places[uint32_t(i)] = {i, 0, 1};
  }
  std::vector<StagePlace> sorted;
  for (const auto &[stage, place] : places)
    sorted.push_back(place);
  return sorted;
}

/// The cost of one micro-batch in a stage. "micro" counts as a forward, and a
/// backward of twice its cost. Programs of the whole step that have no stage
/// count with the role's first stage.
StageCost measureStage(const plan::Manifest &manifest, const RoleUse &use,
                       const StagePlace &place) {
  const plan::Role &role = manifest.roles(place.role);
  StageCost stage;
  stage.role = place.role;
  stage.replicas = place.replicas;
  const RunCounts runs = countRuns(manifest, place.role, /*isLate=*/false);
  for (int i = 0; i < role.programs_size(); ++i)
    if (use.program(uint32_t(i)).chunk == place.chunk)
      for (const plan::Instruction &each : role.programs(i).instructions()) {
        stage.flops += each.flops() * double(runs.programs[size_t(i)]);
        stage.bytes += each.bytes() * double(runs.programs[size_t(i)]);
      }
  const StagePrograms programs(role, use, place.chunk);
  if (const plan::Program *program = programs.find(kForwardPart))
    stage.forward = costOf(*program);
  if (const plan::Program *program = programs.backward())
    stage.backward = costOf(*program);
  if (const plan::Program *program = programs.weights())
    stage.weights = costOf(*program);
  const plan::Program *micro =
      programs.find(kForwardPart | kBackwardPart | kWeightsPart);
  if (micro && !programs.find(kForwardPart))
    stage.forward = stage.backward = stage.weights = costOf(*micro) / 3;
  return stage;
}

/// The kinds of work that a call of a program is.
std::vector<Work> worksOf(uint32_t parts, bool splitsWeights) {
  std::vector<Work> works;
  if (parts & kForwardPart)
    works.push_back(Work::Forward);
  if (parts & kBackwardPart)
    works.push_back(Work::Backward);
  if ((parts & kWeightsPart) && (splitsWeights || !(parts & kBackwardPart)))
    works.push_back(Work::Weights);
  return works;
}

PipelineSchedule scheduleOf(const plan::Manifest &manifest,
                            const std::vector<RoleUse> &uses,
                            const std::vector<StagePlace> &places) {
  PipelineSchedule schedule;
  std::vector<std::vector<uint32_t>> stages(uses.size()); // of roles
  for (size_t stage = 0; stage < places.size(); ++stage) {
    const StagePlace &place = places[stage];
    schedule.roleOfStage.push_back(uint32_t(place.role));
    schedule.replicas.push_back(place.replicas);
    for (size_t i = 0; i < place.replicas; ++i)
      stages[size_t(place.role) + i].push_back(uint32_t(stage));
    const StagePrograms programs(manifest.roles(place.role),
                                 uses[size_t(place.role)], place.chunk);
    schedule.splitsWeights |= programs.weights() != nullptr;
  }
  for (size_t i = 0; i < uses.size(); ++i) {
    std::vector<StageWork> &works = schedule.roles.emplace_back();
    for (const plan::Action &action : manifest.roles(int(i)).train().actions())
      if (action.has_call()) {
        const ProgramUse &program = uses[i].program(action.call().program());
        const uint32_t k = action.call().micro_batch();
        for (Work work : worksOf(program.parts, schedule.splitsWeights))
          works.push_back({work, stages[i][program.chunk], k});
        schedule.microBatches = std::max(schedule.microBatches, k + 1);
      }
  }
  return schedule;
}

/// "F0.F1.F2.   B0...B1...": how long each work takes, side by side; "F0b" is
/// of the role's second stage.
std::string drawRole(const PipelineSchedule &schedule,
                     const std::vector<StageWork> &works,
                     const std::vector<WorkTime> &times, double columnsPerUnit,
                     size_t columns) {
  std::string line(columns, ' ');
  const bool isAlone = schedule.roleOfStage.size() <= schedule.roles.size();
  for (size_t i = 0; i < works.size(); ++i) {
    auto begin = size_t(std::lround(times[i].start * columnsPerUnit));
    auto end = size_t(std::lround(times[i].end * columnsPerUnit));
    end = std::min(end, columns);
    std::string label =
        "FBW"[int(works[i].work)] + std::to_string(works[i].microBatch);
    if (!isAlone)
      label += char('a' + schedule.chunkOf(works[i].stage) % 26);
    for (size_t at = begin; at < end; ++at)
      line[at] = at - begin < label.size() ? label[at - begin] : '.';
  }
  return line;
}

std::vector<std::string> draw(const PipelineSchedule &schedule,
                              const Timeline &timeline) {
  double shortest = timeline.makespan;
  for (const auto &times : timeline.roles)
    for (const WorkTime &time : times)
      if (time.end > time.start)
        shortest = std::min(shortest, time.end - time.start);
  if (timeline.makespan <= 0)
    return std::vector<std::string>(schedule.roles.size());
  const double wanted = kWorkColumns * timeline.makespan / shortest;
  const auto columns =
      size_t(std::clamp(wanted, double(kFewestColumns), double(kMostColumns)));
  std::vector<std::string> lines;
  for (size_t role = 0; role < schedule.roles.size(); ++role)
    lines.push_back(drawRole(schedule, schedule.roles[role],
                             timeline.roles[role],
                             double(columns) / timeline.makespan, columns));
  return lines;
}

std::string orderName(const plan::Manifest &manifest) {
  for (const plan::Setting &setting : manifest.settings())
    if (setting.name() == "schedule")
      return setting.value();
  return "unnamed";
}

/// The largest role's time in a step by the mean.
double measureImbalance(const plan::Manifest &manifest) {
  std::vector<double> times;
  for (int i = 0; i < manifest.roles_size(); ++i) {
    const RunCounts runs = countRuns(manifest, i, /*isLate=*/false);
    double &time = times.emplace_back();
    for (int j = 0; j < manifest.roles(i).programs_size(); ++j)
      time += costOf(manifest.roles(i).programs(j)) *
              double(runs.programs[size_t(j)]);
  }
  const double sum = std::accumulate(times.begin(), times.end(), 0.0);
  const double largest = *std::max_element(times.begin(), times.end());
  return sum > 0 ? largest * double(times.size()) / sum : 1;
}

struct PipelineStages {
  std::vector<RoleUse> uses;
  std::vector<StagePlace> places;
  std::vector<StageCost> costs;
};

std::optional<PipelineStages> measureStages(const plan::Manifest &manifest) {
  if (manifest.roles_size() < 2 || hasParameterServer(manifest) ||
      manifest.roles(0).train().actions_size() == 0)
    return std::nullopt;
  Result<std::vector<RoleUse>> uses = useOfRoles(manifest);
  if (!uses.ok())
    return std::nullopt;
  PipelineStages stages;
  stages.uses = std::move(*uses);
  stages.places = placeStages(manifest);
  for (const StagePlace &place : stages.places)
    stages.costs.push_back(
        measureStage(manifest, stages.uses[size_t(place.role)], place));
  return stages;
}

WorkCosts workCosts(const std::vector<StageCost> &stages) {
  WorkCosts costs;
  for (const StageCost &stage : stages) {
    costs.forward.push_back(stage.forward);
    costs.backward.push_back(stage.backward);
    costs.weights.push_back(stage.weights);
  }
  return costs;
}

/// Steps that overlap are shown from the first on, until one is as the next.
uint32_t stepsShown(const plan::Manifest &manifest) {
  return overlapsSteps(manifest) ? stepsAhead(manifest) + 2 : 1;
}

/// Micro-batches are numbered through the steps.
Result<PipelineSchedule> scheduleOfSteps(const plan::Manifest &manifest,
                                         const PipelineStages &stages,
                                         uint32_t steps) {
  if (steps == 1)
    return scheduleOf(manifest, stages.uses, stages.places);
  ZC_ASSIGN_OR_RETURN(const plan::Manifest run, unroll(manifest, steps));
  return scheduleOf(run, stages.uses, stages.places);
}

struct Bubble {
  double ofTotal, ofIdeal;
};

/// The bubble of a step; if steps overlap, of a step in the midst of a run, by
/// how much it makes the run longer.
Result<Bubble> measureBubble(const plan::Manifest &manifest,
                             const PipelineStages &stages, uint32_t steps,
                             const WorkCosts &costs) {
  auto measure = [&](uint32_t count) -> Result<Timeline> {
    ZC_ASSIGN_OR_RETURN(const PipelineSchedule schedule,
                        scheduleOfSteps(manifest, stages, count));
    return simulateSchedule(schedule, costs);
  };
  ZC_ASSIGN_OR_RETURN(const Timeline all, measure(steps));
  if (steps == 1)
    return Bubble{all.bubbleOfTotal, all.bubbleOfIdeal};
  ZC_ASSIGN_OR_RETURN(const Timeline more, measure(steps + 1));
  const double step = more.makespan - all.makespan;
  const double busy =
      all.makespan * (1 - all.bubbleOfTotal) / double(steps); // by a mean role
  if (step <= 0 || busy <= 0)
    return Bubble{0, 0};
  return Bubble{1 - busy / step, step / busy - 1};
}

} // namespace

std::optional<WorkCosts> measureWorkCosts(const plan::Manifest &manifest) {
  std::optional<PipelineStages> stages = measureStages(manifest);
  return stages ? std::optional(workCosts(stages->costs)) : std::nullopt;
}

std::optional<PipelineReport> measurePipeline(const plan::Manifest &manifest) {
  std::optional<PipelineStages> stages = measureStages(manifest);
  if (!stages)
    return std::nullopt;
  PipelineReport report;
  report.stages = stages->costs;
  for (const plan::Role &role : manifest.roles())
    report.versions.push_back(std::max(1u, role.versions()));
  const WorkCosts costs = workCosts(stages->costs);
  const uint32_t steps = stepsShown(manifest);
  Result<PipelineSchedule> schedule = scheduleOfSteps(manifest, *stages, steps);
  if (!schedule.ok())
    return std::nullopt;
  Result<Timeline> timeline = simulateSchedule(*schedule, costs);
  Result<Bubble> bubble = measureBubble(manifest, *stages, steps, costs);
  Result<Bubble> equal =
      measureBubble(manifest, *stages, steps,
                    WorkCosts::equal(report.stages.size(), 1, 1, 1));
  if (!timeline.ok() || !bubble.ok() || !equal.ok())
    return std::nullopt;
  report.order = orderName(manifest);
  report.steps = steps;
  report.bubbleOfTotal = bubble->ofTotal;
  report.bubbleOfIdeal = bubble->ofIdeal;
  report.equalBubbleOfTotal = equal->ofTotal;
  report.equalBubbleOfIdeal = equal->ofIdeal;
  report.inFlight = timeline->inFlight;
  report.timeline = draw(*schedule, *timeline);
  report.imbalance = measureImbalance(manifest);
  return report;
}

} // namespace zc
