//===- ServerPlan.cpp - a step with parameter servers ---------------------===//
#include "compiler/Plan/ServerPlan.h"
#include "compiler/Export/Inspect.h"
#include "runtime/Plan/Axes.h"
#include "runtime/Plan/Mesh.h"
#include "runtime/Plan/StepPhases.h"
#include "runtime/Simulate/TimedPrograms.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

namespace zc {

/// Whether every rank has all of every parameter, and one role.
static Status checkWorkers(const plan::Manifest &manifest, const Mesh &mesh) {
  bool isDivided = manifest.roles_size() != 1;
  for (const plan::Setting &axis : manifest.mesh())
    isDivided |= axis.name() != axes::kSample && axis.value() != "1";
  for (const plan::Role &role : manifest.roles())
    for (const plan::State &state : role.states())
      isDivided |= state.whole_dims_size() > 0 || state.members_size() > 0;
  if (isDivided)
    return makeError(StatusCode::InvalidArgument,
                     "--servers: the workers of parameter servers divide "
                     "samples alone; use a mesh of dp with --zero 0");
  return mesh.ranks() <= kMostWorkers
             ? Status()
             : makeError(StatusCode::InvalidArgument, "--servers: at most ",
                         kMostWorkers, " workers are simulated");
}

Result<ServerPlan> planServers(const plan::Manifest &manifest,
                               const Cluster &given,
                               const ServerOptions &options) {
  ZC_ASSIGN_OR_RETURN(const Mesh mesh, Mesh::of(manifest));
  ZC_RETURN_IF_ERROR(checkWorkers(manifest, mesh));
  const Cluster cluster = given.sharedBy(mesh.ranks());
  ZC_ASSIGN_OR_RETURN(const TimedPrograms programs,
                      TimedPrograms::of(manifest, cluster, {}));
  ServerPlan plan;
  ServedTraining &training = plan.training;
  training.workers = mesh.ranks();
  training.servers = options.servers;
  training.isAsynchronous = options.isAsynchronous;
  training.parameterBytes = training.gradientBytes =
      double(measureComm(manifest).parameterBytes);
  const plan::Role &role = manifest.roles(0);
  const RunCounts runs = countRuns(manifest, 0, /*isLate=*/false);
  for (int i = 0; i < role.programs_size(); ++i) {
    const double times = double(runs.programs[size_t(i)]);
    const TimedProgram &timed = programs.find(0, uint32_t(i));
    const std::vector<StepPhase> phases = phasesOf(role.programs(i));
    bool computes = false;
    for (size_t j = 0; j < timed.instructions.size(); ++j) {
      const TimedInstruction &each = timed.instructions[j];
      if (each.isCollective || each.stream != 0)
        continue;
      const bool updates = phases[j] == StepPhase::Optimizer;
      computes |= !updates;
      (updates ? training.updateSeconds : training.computeSeconds) +=
          times * each.seconds;
    }
    (computes ? training.computeSeconds : training.updateSeconds) +=
        times * cluster.device.callSeconds;
  }
  training.slowdown.assign(size_t(training.workers), 1);
  for (auto [rank, factor] : options.stragglers)
    if (rank < training.workers)
      training.slowdown[size_t(rank)] = factor;
  ZC_ASSIGN_OR_RETURN(plan.times, simulateServers(cluster, training));
  return plan;
}

std::string printServers(const ServerPlan &plan) {
  return llvm::formatv(
             "\nwith {0} parameter servers, {1}\n"
             "step              {2:F3} ms for the gradients of {3} workers: "
             "{4:F3} ms of computing, {5:F3} ms of updates\n"
             "staleness         {6:F1} updates of others on average, {7:F0} at "
             "most\n"
             "traffic           {8} of a server, {9} of a worker in a step\n",
             plan.training.servers,
             plan.training.isAsynchronous ? "asynchronous" : "bulk synchronous",
             plan.times.stepSeconds * 1e3, plan.training.workers,
             plan.training.computeSeconds * 1e3,
             plan.training.updateSeconds * 1e3, plan.times.meanStaleness,
             plan.times.mostStaleness,
             printSize(uint64_t(plan.times.serverBytes)),
             printSize(uint64_t(plan.times.workerBytes)))
      .str();
}

} // namespace zc
