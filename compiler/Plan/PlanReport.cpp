#include "compiler/Plan/PlanReport.h"

#include "runtime/Plan/LibraryCalls.h"
#include "runtime/Plan/Mesh.h"
#include "runtime/Plan/Order/RunOfSteps.h"
#include "runtime/Plan/StepPhases.h"
#include "runtime/Plan/Target.h"
#include "runtime/Plan/Types.h"
#include "runtime/Simulate/TimedPrograms.h"

#include <algorithm>
#include <array>
#include <set>

namespace zc {
namespace {

/// Products of a step, of all ranks.
struct Products {
  double forward = 0, executed = 0; // FLOPs
  std::array<double, plan::DataType_ARRAYSIZE> byType{};

  void add(const plan::Program &program, const ProgramUse &use, double times) {
    const std::vector<StepPhase> phases = phasesOf(program);
    const bool isForward = use.parts == kForwardPart;
    const bool hasForward = use.parts & kForwardPart;
    for (int i = 0; i < program.instructions_size(); ++i) {
      const plan::Instruction &instruction = program.instructions(i);
      const kernels::CallWork work = workOf(program, instruction);
      if (work.rate.empty())
        continue;
      const double flops = instruction.flops() * times;
      executed += flops;
      byType[size_t(dataType(work.type))] += flops;
      if (isForward || (hasForward && phases[size_t(i)] == StepPhase::Forward))
        forward += flops;
    }
  }
};

Products countProducts(const plan::Manifest &manifest,
                       const std::vector<RoleUse> &uses, double ranksOfRole) {
  Products products;
  for (int i = 0; i < manifest.roles_size(); ++i) {
    const plan::Role &role = manifest.roles(i);
    const RunCounts runs = countRuns(manifest, i, /*isLate=*/false);
    for (int j = 0; j < role.programs_size(); ++j)
      if (runs.programs[size_t(j)] > 0)
        products.add(role.programs(j), uses[size_t(i)].program(uint32_t(j)),
                     double(runs.programs[size_t(j)]) * ranksOfRole);
  }
  return products;
}

/// Whether the device multiplies 8-bit floats, with the plan's scales. As quick
/// as float32, as types are whose rate a file leaves out, no GPU is that
/// multiplies them at all.
Status checkFloat8(const plan::Manifest &manifest, const Cluster &cluster) {
  if (cluster.device.flopsPerSecond[plan::U8] == 0)
    return makeError(StatusCode::InvalidArgument, "cluster '", cluster.name,
                     "' has no rate of 8-bit floats (device.flops_per_s.f8); "
                     "plan it with --precision bf16");
  const bool hasBlocks = std::any_of(
      manifest.settings().begin(), manifest.settings().end(),
      [](const plan::Setting &setting) {
        return setting.name() == "fp8-scaling" && setting.value() == "block";
      });
  if (hasBlocks && !cluster.device.scalesFloat8Blocks)
    return makeError(
        StatusCode::InvalidArgument, "cluster '", cluster.name,
        "' does not multiply 8-bit floats whose blocks of 128 have "
        "scales of their own (device.f8_block); plan it with "
        "--fp8-scaling current or delayed");
  return Status();
}

/// Labels of a step: of a language model its tokens.
double countLabels(const plan::Manifest &manifest) {
  double most = 0;
  for (int i = 0; i < manifest.roles_size(); ++i) {
    const plan::Role &role = manifest.roles(i);
    const RunCounts runs = countRuns(manifest, i, /*isLate=*/false);
    const uint32_t turns = std::max(1u, role.turns());
    for (int j = 0; j < role.programs_size(); ++j)
      for (const plan::Input &input : role.programs(j).inputs()) {
        if (!input.is_label() || runs.programs[size_t(j)] == 0)
          continue;
        plan::TensorType whole =
            role.programs(j).buffers(int(input.buffer())).type();
        if (input.whole_dims_size() > 0)
          *whole.mutable_dims() = input.whole_dims();
        Result<uint64_t> count = elementCount(whole);
        if (count.ok())
          most = std::max(most, double(*count) * turns *
                                    double(runs.programs[size_t(j)]));
      }
  }
  return most;
}

/// Elements of parameters that are trained, each tensor once.
double countParameters(const plan::Manifest &manifest) {
  std::set<std::string> seen;
  double elements = 0;
  auto add = [&](const std::string &name, const plan::TensorType &type) {
    Result<uint64_t> count = elementCount(type);
    if (seen.insert(name).second && count.ok())
      elements += double(*count);
  };
  for (const plan::Role &role : manifest.roles())
    for (const plan::State &state : role.states()) {
      if (state.kind() != plan::PARAMETER)
        continue;
      for (const plan::UnitMember &member : state.members())
        add(member.name(), member.type());
      if (state.members_size() > 0)
        continue;
      plan::TensorType whole = state.type();
      if (state.whole_dims_size() > 0)
        *whole.mutable_dims() = state.whole_dims();
      add(state.name(), whole);
    }
  return elements;
}

double peakOf(const SimulatedDevice &device, const plan::Manifest &manifest,
              const Products &products) {
  const auto most =
      std::max_element(products.byType.begin(), products.byType.end());
  const auto type = plan::DataType(most - products.byType.begin());
  if (type == plan::F32 && manifest.target().matmul_precision() == "tf32" &&
      device.tf32FlopsPerSecond > 0)
    return device.tf32FlopsPerSecond;
  const double peak = device.flopsPerSecond[type];
  return peak > 0 ? peak : device.flopsPerSecond[plan::F32];
}

std::vector<PlannedLink> measureLinks(const Cluster &cluster,
                                      const PlanReport &report) {
  std::vector<PlannedLink> links;
  for (size_t level = 0; level < cluster.levels.size(); ++level) {
    PlannedLink &link = links.emplace_back();
    link.level = cluster.levels[level].name;
    double busy = 0;
    for (const PlannedRole &role : report.roles) {
      link.bytes = std::max(link.bytes, role.times.sentBytes[level]);
      busy = std::max(busy, role.times.busyBytes[level]);
    }
    const double could =
        cluster.levels[level].bytesPerSecond * report.stepSeconds;
    link.share = could > 0 ? busy / could : 0;
  }
  return links;
}

/// The role whose programs take longest.
const PlannedRole &slowestRole(const PlanReport &report) {
  return *std::max_element(report.roles.begin(), report.roles.end(),
                           [](const PlannedRole &a, const PlannedRole &b) {
                             return a.times.called < b.times.called;
                           });
}

void countWays(const plan::Manifest &manifest, const TimedPrograms &programs,
               PlanReport &report) {
  const int role = report.traffic.role;
  const RunCounts runs = countRuns(manifest, role, /*isLate=*/false);
  for (size_t i = 0; i < runs.programs.size(); ++i) {
    if (runs.programs[i] == 0)
      continue;
    const TimedProgram &program = programs.find(uint32_t(role), uint32_t(i));
    for (const TimedInstruction &each : program.instructions)
      if (each.method)
        report.ways[programs.exposure(each.exposure)][each.method->name()] +=
            runs.programs[i];
  }
}

void compareMemory(const plan::Manifest &manifest, const Cluster &cluster,
                   const Mesh &mesh, const TimedPrograms &programs,
                   PlanReport &report) {
  auto fits = [](uint64_t bytes, uint64_t room) {
    return room == 0 || bytes <= room;
  };
  const MemoryReport &most = report.roles[size_t(report.largestRole)].memory;
  report.fitsDevice = fits(most.peak, cluster.device.memoryBytes);
  if (runsOnHost(manifest.target()))
    return; // it offloads to a file
  std::vector<uint64_t> offloaded;
  for (const PlannedRole &role : report.roles)
    offloaded.push_back(role.memory.offloadedBytes);
  report.host = measureHostMemory(mesh, cluster, offloaded, programs);
  report.fitsHost = fits(report.host.nodeBytes, cluster.hostMemoryBytes);
}

} // namespace

Result<PlanReport> planStep(const plan::Manifest &manifest,
                            const Cluster &given,
                            const SimulationOptions &options) {
  if (hasParameterServer(manifest))
    return makeError(StatusCode::InvalidArgument,
                     "--aggregation server: leave it out, and say --servers N, "
                     "which simulates parameter servers");
  if (manifest.mode() != "train")
    return makeError(StatusCode::InvalidArgument,
                     "an artifact of --mode infer has no training step to "
                     "plan; compile with --mode train");
  PlanReport report;
  ZC_ASSIGN_OR_RETURN(report.simulated, simulateStep(manifest, given, options));
  ZC_ASSIGN_OR_RETURN(const Mesh mesh, Mesh::of(manifest));
  const Cluster cluster = given.sharedBy(mesh.ranks());
  ZC_ASSIGN_OR_RETURN(const std::vector<RoleUse> uses, useOfRoles(manifest));
  report.ranks = mesh.ranks();
  report.stepSeconds = report.simulated.seconds;
  report.bubbleOfTotal = report.simulated.bubbleOfTotal;
  report.bubbleOfIdeal = report.simulated.bubbleOfIdeal;
  const int64_t ranksOfRole = report.ranks / manifest.roles_size();
  for (int i = 0; i < manifest.roles_size(); ++i) {
    PlannedRole &role = report.roles.emplace_back();
    role.ranks = ranksOfRole;
    role.memory = measureMemory(manifest, i);
    role.times = report.simulated.orders.roles[size_t(i)];
    report.idealSeconds += role.times.compute / manifest.roles_size();
    if (role.memory.peak > report.roles[size_t(report.largestRole)].memory.peak)
      report.largestRole = i;
  }
  ZC_ASSIGN_OR_RETURN(const TimedPrograms programs,
                      TimedPrograms::of(manifest, cluster, options.placement));
  compareMemory(manifest, cluster, mesh, programs, report);
  const SimulatedRole &slowest = slowestRole(report).times;
  report.exposed = slowest.exposed;
  for (const auto &[kind, seconds] : slowest.computeByKind)
    report.computed[std::string(kind)] += seconds;
  report.links = measureLinks(cluster, report);
  report.traffic = measureComm(manifest);
  countWays(manifest, programs, report);
  report.parameters = countParameters(manifest);
  const Products products = countProducts(manifest, uses, double(ranksOfRole));
  if (products.byType[plan::U8] > 0)
    ZC_RETURN_IF_ERROR(checkFloat8(manifest, cluster));
  // A model whose first layer's input has no gradient needs less than that.
  report.modelFlops = std::min(3 * products.forward, products.executed);
  report.executedFlops = products.executed;
  const double seconds = report.stepSeconds;
  if (seconds <= 0)
    return report;
  const double whole = peakOf(cluster.device, manifest, products) * seconds *
                       double(report.ranks);
  report.mfu = report.modelFlops / whole;
  report.hfu = report.executedFlops / whole;
  report.samplesPerSecond = double(manifest.batch()) / seconds;
  report.tokensPerSecond = countLabels(manifest) / seconds;
  return report;
}

} // namespace zc
