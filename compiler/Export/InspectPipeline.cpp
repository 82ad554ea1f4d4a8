//===- InspectPipeline.cpp - how roles keep each other busy ---------------===//
//
// The roles' orders as they stand in the manifest, simulated: calls take what
// their instructions ask for, messages take no time.
//
//===----------------------------------------------------------------------===//
#include "compiler/Export/Inspect.h"
#include "runtime/Plan/Order/Schedules.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace zc {
namespace {

/// A drawn line's length, and what the shortest work takes of it if it can.
constexpr size_t kFewestColumns = 40, kMostColumns = 160, kWorkColumns = 3;

/// Of a program, in units that compare: its arithmetic or its traffic,
/// whichever is more at ten operations a byte.
double costOf(const plan::Program &program) {
  double cost = 0;
  for (const plan::Instruction &instruction : program.instructions())
    cost += std::max(instruction.flops(), 10 * instruction.bytes());
  return cost;
}

const plan::Program *find(const plan::Role &role, const std::string &name) {
  for (const plan::Program &program : role.programs())
    if (program.name() == name)
      return &program;
  return nullptr;
}

/// What one micro-batch costs a role. "micro" is a forward, and a backward of
/// twice its cost.
StageCost measureStage(const plan::Manifest &manifest, int index) {
  const plan::Role &role = manifest.roles(index);
  StageCost stage;
  stage.role = index;
  const RunCounts runs = countRuns(manifest, index, /*isLate=*/false);
  for (int i = 0; i < role.programs_size(); ++i)
    for (const plan::Instruction &each : role.programs(i).instructions()) {
      stage.flops += each.flops() * double(runs.programs[size_t(i)]);
      stage.bytes += each.bytes() * double(runs.programs[size_t(i)]);
    }
  if (const plan::Program *program = find(role, "forward"))
    stage.forward = costOf(*program);
  if (const plan::Program *program = find(role, "backward"))
    stage.backward = costOf(*program);
  if (const plan::Program *program = find(role, "weights"))
    stage.weights = costOf(*program);
  const plan::Program *micro = find(role, "micro");
  if (micro && !find(role, "forward"))
    stage.forward = stage.backward = stage.weights = costOf(*micro) / 3;
  return stage;
}

/// The kinds of work that a call of a program is.
std::vector<Work> worksOf(const plan::Role &role, const std::string &name,
                          bool splitsWeights) {
  std::vector<Work> works;
  if (name == "forward" || name == "micro")
    works.push_back(Work::Forward);
  if (name == "backward" || name == "micro")
    works.push_back(Work::Backward);
  const bool isWhole =
      name == "micro" || (name == "backward" && !find(role, "weights"));
  if (name == "weights" || (splitsWeights && isWhole))
    works.push_back(Work::Weights);
  return works;
}

PipelineSchedule scheduleOf(const plan::Manifest &manifest) {
  PipelineSchedule schedule;
  schedule.splitsWeights =
      std::any_of(manifest.roles().begin(), manifest.roles().end(),
                  [](const plan::Role &role) { return find(role, "weights"); });
  for (int i = 0; i < manifest.roles_size(); ++i) {
    const plan::Role &role = manifest.roles(i);
    std::vector<StageWork> &works = schedule.roles.emplace_back();
    schedule.roleOfStage.push_back(uint32_t(i));
    for (const plan::Action &action : role.train().actions())
      if (action.has_call())
        for (Work work :
             worksOf(role, role.programs(int(action.call().program())).name(),
                     schedule.splitsWeights)) {
          works.push_back({work, uint32_t(i), action.call().micro_batch()});
          schedule.microBatches =
              std::max(schedule.microBatches, action.call().micro_batch() + 1);
        }
  }
  return schedule;
}

/// "F0.F1.F2.   B0...B1...": how long each work takes, side by side.
std::string drawRole(const std::vector<StageWork> &works,
                     const std::vector<WorkTime> &times, double columnsPerUnit,
                     size_t columns) {
  std::string line(columns, ' ');
  for (size_t i = 0; i < works.size(); ++i) {
    auto begin = size_t(std::lround(times[i].start * columnsPerUnit));
    auto end = size_t(std::lround(times[i].end * columnsPerUnit));
    end = std::min(end, columns);
    std::string label =
        "FBW"[int(works[i].work)] + std::to_string(works[i].microBatch);
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
    lines.push_back(drawRole(schedule.roles[role], timeline.roles[role],
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

} // namespace

std::optional<PipelineReport> measurePipeline(const plan::Manifest &manifest) {
  if (manifest.roles_size() < 2 ||
      manifest.roles(0).train().actions_size() == 0)
    return std::nullopt;
  PipelineReport report;
  WorkCosts costs;
  for (int i = 0; i < manifest.roles_size(); ++i) {
    const StageCost stage = measureStage(manifest, i);
    costs.forward.push_back(stage.forward);
    costs.backward.push_back(stage.backward);
    costs.weights.push_back(stage.weights);
    report.stages.push_back(stage);
  }
  const PipelineSchedule schedule = scheduleOf(manifest);
  Result<Timeline> timeline = simulateSchedule(schedule, costs);
  Result<Timeline> equal = simulateSchedule(
      schedule, WorkCosts::equal(report.stages.size(), 1, 1, 1));
  if (!timeline.ok() || !equal.ok())
    return std::nullopt;
  report.order = orderName(manifest);
  report.bubbleOfTotal = timeline->bubbleOfTotal;
  report.bubbleOfIdeal = timeline->bubbleOfIdeal;
  report.equalBubbleOfTotal = equal->bubbleOfTotal;
  report.equalBubbleOfIdeal = equal->bubbleOfIdeal;
  report.inFlight = timeline->inFlight;
  report.timeline = draw(schedule, *timeline);
  report.imbalance = measureImbalance(manifest);
  return report;
}

} // namespace zc
